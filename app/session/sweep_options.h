#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/run_options.h"
#include "src/base/option_table.h"
#include "src/measure/record.h"

namespace ptbench {

/// An option of `run` that the user gave, as text: several values span the grid.
struct SweepSetting {
  std::string option;               ///< long name without dashes
  bool measured = false;            ///< enters a run's id
  std::vector<std::string> values;  ///< one empty text for a flag
};

/// What the user asked for on `ptbench sweep`.
struct SweepOptions {
  RunOptions common;                   ///< every option of `run` that takes no list
  std::vector<SweepSetting> settings;  ///< every option of `run`, lists included
  std::optional<ScalingMode> scaling;  ///< empty: as sweep_rows() finds fit
  bool scaling_off = false;            ///< compare no row with serial
  std::optional<Size> rounds;          ///< empty: 5, or 6 where several builds are compared
  bool resume = false;
  std::vector<std::string> binaries;    ///< other builds of this program; empty: this one
  std::optional<std::string> launcher;  ///< starts {n} ranks; empty: ptbench starts them

  std::vector<std::string> command_line;  ///< argv, for the record

  /// The setting of that option; null where the user did not give it.
  [[nodiscard]] const SweepSetting* find(std::string_view option) const;
};

/// The options of `ptbench sweep`: its own, and those of `run` that make sense for several rows. A
/// list is checked value by value, as `run` checks a single one.
[[nodiscard]] OptionTable<SweepOptions> sweep_option_table();

}  // namespace ptbench
