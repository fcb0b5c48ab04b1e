#pragma once

#include "app/session/session_setup.h"
#include "src/base/clock.h"
#include "src/measure/prior_noise.h"
#include "src/process/interrupt.h"
#include "src/process/long_work.h"
#include "src/process/progress.h"
#include "src/process/shown_lines.h"

namespace ptbench {

/// What a command that starts sessions has for all of them. A command makes it first: signals are
/// watched before any thread is made.
struct SessionTools {
  InterruptWatch interrupt;
  SteadyClock clock;
  Progress progress{clock};
  ShownLines shown;
  LongWork whole{clock, {.progress_is_seen = progress.visible()}};

  /// For sessions on a host with that noise. The tools and `prior` outlive what is returned.
  [[nodiscard]] SessionSurroundings around(const PriorNoise& prior) {
    return {.clock = clock,
            .interrupt = interrupt,
            .progress = progress,
            .prior = prior,
            .whole = &whole,
            .shown = &shown};
  }
};

}  // namespace ptbench
