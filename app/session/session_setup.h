#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/session/rank_launcher.h"
#include "src/base/clock.h"
#include "src/measure/prior_noise.h"
#include "src/process/interrupt.h"
#include "src/process/long_work.h"
#include "src/process/progress.h"
#include "src/process/shown_lines.h"

namespace ptbench {

/// What a session measures, and with which program.
struct SessionSetup {
  std::filesystem::path program;  ///< this one, or another build of it
  std::vector<std::string>
      arguments;  ///< of its `run`, as pass_on() of run_arguments.h makes them;
                  ///< --verify among them is for `prepare` alone, but of a program
  std::vector<std::string> first_arguments;  ///< beside these, of the first repetition only: files
  std::optional<std::string> plan_file;      ///< the user's --plan
  bool extends_plan = false;                 ///< what it lacks is added to it, not refused
  std::optional<RankLauncher> launcher = std::nullopt;  ///< empty: each process starts its ranks
  bool starts_program = false;                          ///< its processes start one that trains
  bool needs_preparation = true;  ///< `prepare` starts a process: it chooses operators or verifies
  std::string id;                 ///< of the record, should no process write one
  std::string preparation = "preparing";  ///< what progress calls it
  /// For a process that is stopped (SIGSTOP): then it is killed.
  std::chrono::milliseconds longest_stop{60'000};
  double repetition_seconds = 6;  ///< the most that one repetition measures
  double least_seconds = 0.4;     ///< the least

  /// Whether the program may be something else than this one.
  [[nodiscard]] bool is_foreign() const { return program != "/proc/self/exe"; }
};

/// What a session talks to while it works; everything outlives it.
struct SessionSurroundings {
  const Clock& clock;
  InterruptWatch& interrupt;
  Progress& progress;
  const PriorNoise& prior;
  LongWork* whole = nullptr;    ///< that the sessions are parts of; null: nobody looks
  ShownLines* shown = nullptr;  ///< what their processes have printed; null: all of it is shown
};

}  // namespace ptbench
