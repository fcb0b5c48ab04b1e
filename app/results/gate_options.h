#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/run_options.h"
#include "app/results/compare_options.h"
#include "src/base/option_table.h"
#include "src/judge/lockstep_rule.h"

namespace ptbench {

/// What the user asked for on `ptbench gate`.
struct GateOptions {
  RunOptions run;                         ///< what both builds measure
  std::vector<NamedAssignment> measured;  ///< the same, as given: for the processes to start
  std::optional<std::string> base;        ///< build of ptbench
  std::optional<std::string> fresh;       ///< build of ptbench
  // Or this one measures two programs of the user:
  std::optional<std::string> base_program;   ///< command
  std::optional<std::string> fresh_program;  ///< command

  [[nodiscard]] bool compares_programs() const { return base_program.has_value(); }
  /// How the result is judged, printed and written; it names no files to compare.
  CompareConfig judged;
  std::optional<Size> max_pairs;    ///< empty: as `gate_rule` has it
  double max_time_seconds = 300;    ///< after which no pair begins
  std::optional<std::string> keep;  ///< folder for the records of both sides

  std::vector<std::string> command_line;  ///< argv, for the record
};

/// Throws a usage error unless both sides are builds, or both are programs.
void require_two_sides(const GateOptions& options);

/// The options of `ptbench gate`: its own, those of `compare` that say how results are judged and
/// written, and those of `run` that say what is measured.
[[nodiscard]] OptionTable<GateOptions> gate_option_table();

}  // namespace ptbench
