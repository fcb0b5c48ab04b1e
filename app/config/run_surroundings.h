#pragma once

#include <string_view>

#include "app/config/run_files.h"
#include "src/base/clock.h"
#include "src/comm/ranks_apart.h"
#include "src/comm/shm/shared_region.h"
#include "src/process/interrupt.h"
#include "src/process/progress.h"

namespace ptbench {

/// With which a rank that a signal interrupted gives up.
inline constexpr std::string_view kInterruptedReason = "it was stopped by a signal";

/// What a run talks to while it works; everything outlives it.
struct RunSurroundings {
  const Clock& clock;
  InterruptWatch& interrupt;
  Progress& progress;
  RunFiles& files;
  const SharedRegion* region = nullptr;  ///< of the ranks that this process is one of
  RanksApart* apart = nullptr;           ///< null: these are on one host
};

}  // namespace ptbench
