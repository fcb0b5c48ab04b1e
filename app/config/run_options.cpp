#include "app/config/run_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "app/config/run_option_rows.h"
#include "src/base/error.h"

namespace ptbench {

OptionTable<RunOptions> run_option_table() {
  RunOptionRows rows;
  append_training(rows);
  append_program(rows);
  append_arithmetic(rows);
  append_machine(rows);
  append_communication(rows);
  append_place(rows);
  append_imbalance(rows);
  append_optimizer(rows);
  append_data(rows);
  append_length(rows);
  append_stop_rule(rows);
  append_checks(rows);
  append_files(rows);
  append_trace(rows);
  append_hidden(rows);
  append_slowdown(rows);
  return OptionTable<RunOptions>(std::move(rows));
}

OptionScope scope_of(std::string_view option) {
  static const std::vector<OptionInfo> options = run_option_table().infos();
  const auto found = std::ranges::find(options, option, &OptionInfo::name);
  ensure(found != options.end(), "only options of run have a scope in it");
  return found->scope;
}

}  // namespace ptbench
