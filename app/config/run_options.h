#pragma once

#include <string_view>

#include "app/config/run_config.h"
#include "src/base/option_table.h"

namespace ptbench {

/// Every option of `ptbench run`: names, defaults, ranges, help and how each gets into RunOptions.
/// To add one: a field in RunOptions, and a row beside those of its subject (run_option_rows.h).
[[nodiscard]] OptionTable<RunOptions> run_option_table();

/// The scope of the option of `run` with that long name, which exists.
[[nodiscard]] OptionScope scope_of(std::string_view option);

}  // namespace ptbench
