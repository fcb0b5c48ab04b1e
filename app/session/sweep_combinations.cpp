#include "app/session/sweep_combinations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/sweep_grid.h"
#include "src/base/error.h"
#include "src/comm/communicator_catalog.h"
#include "strategies/strategy_catalog.h"

namespace ptbench {
namespace {

bool takes_nproc(std::string_view strategy) { return find_strategy(strategy).several_ranks; }

bool takes_interface(std::string_view communicator) {
  return std::ranges::any_of(communicator_catalog(), [communicator](const CommunicatorRow& row) {
    return row.name == communicator && row.takes_interface;
  });
}

/// `name` is not among the assignments yet.
void assign(const Expansion& expansion, std::string name, std::string text, Combination& to) {
  to.assignments.push_back({std::move(name), std::move(text)});
  to = expansion.of(std::move(to.assignments));
}

}  // namespace

void leave_out(Assignments& assignments, std::span<const std::string_view> names) {
  std::erase_if(assignments, [names](const NamedAssignment& given) {
    return std::ranges::find(names, given.name) != names.end();
  });
}

void leave_out_sharing(Assignments& assignments) {
  std::erase_if(assignments, [](const NamedAssignment& assignment) {
    return scope_of(assignment.name) == OptionScope::replicas;
  });
}

std::size_t combinations_of(const SweepOptions& options) {
  std::size_t count = 1;
  for (const SweepSetting& setting : options.settings) {
    count *= setting.values.size();
    if (count > kMostSweepRows)
      throw usage_error(fmt::format("the lists span more than {} rows", kMostSweepRows),
                        "shorten the lists, or sweep over one option after the other");
  }
  return count;
}

Expansion::Expansion(const SweepOptions& sweep) : sweep_(sweep) {
  for (const OptionRow<RunOptions>& row : table_.rows()) rows_.emplace(row.info.name, &row);
  const SweepSetting* strategies = sweep.find("strategy");
  ranks_communicate_ =
      strategies != nullptr && std::ranges::any_of(strategies->values, takes_nproc);
  const SweepSetting* communicators = sweep.find("communicator");
  has_use_for_interface_ =
      communicators != nullptr && std::ranges::any_of(communicators->values, takes_interface);
}

Combination Expansion::combination(std::size_t number) const {
  std::vector<std::size_t> digits(sweep_.settings.size());
  for (std::size_t at = digits.size(); at-- > 0;) {
    const std::size_t base = sweep_.settings[at].values.size();
    digits[at] = number % base;
    number /= base;
  }
  Assignments assignments;
  for (std::size_t at = 0; at < digits.size(); ++at)
    assignments.push_back({sweep_.settings[at].option, sweep_.settings[at].values[digits[at]]});
  return without_useless(of(std::move(assignments)));
}

Combination Expansion::of(Assignments assignments) const {
  Combination result{.options = {}, .assignments = std::move(assignments)};
  for (const NamedAssignment& given : result.assignments) {
    const OptionRow<RunOptions>& row = *rows_.at(given.name);
    row.set(result.options, row.info, given.text);
  }
  result.options.assignments = result.assignments;
  return result;
}

Combination Expansion::without_useless(Combination result) const {
  if (result.options.program) return result;
  const bool communicates = takes_nproc(result.options.strategy);
  if (communicates && (!has_use_for_interface_ || takes_interface(result.options.communicator)))
    return result;
  if (communicates)
    leave_out(result.assignments, std::array<std::string_view, 1>{"interface"});
  else if (ranks_communicate_)
    leave_out_sharing(result.assignments);
  else
    leave_out(result.assignments, std::array<std::string_view, 1>{"nproc"});
  return of(std::move(result.assignments));
}

Size usual_threads(Size nproc, const Topology& topology) {
  return std::max<Size>(1, std::ssize(topology.cores) / nproc);
}

void share_threads(const Expansion& expansion, const Topology& topology,
                   std::vector<Combination>& combinations) {
  Size most = 1;
  for (const Combination& combination : combinations)
    most = std::max(most, combination.options.nproc);
  const Size threads = usual_threads(most, topology);
  for (Combination& combination : combinations) {
    const RunOptions& options = combination.options;
    const bool takes_threads = !options.program || has_placeholder(*options.program, "threads");
    if (options.threads || !takes_threads || usual_threads(options.nproc, topology) == threads)
      continue;
    assign(expansion, "threads", fmt::format("{}", threads), combination);
  }
}

Size most_cores_of(const std::vector<Combination>& combinations, const Topology& topology) {
  Size most = 1;
  for (const Combination& combination : combinations) {
    const RunOptions& options = combination.options;
    most = std::max(
        most, options.nproc * options.threads.value_or(usual_threads(options.nproc, topology)));
  }
  return std::min(most, std::ssize(topology.cores));
}

std::optional<Workload> workload_of(const RunOptions& options) {
  try {
    return find_workload(options.workload);
  } catch (const Error&) {
    return {};
  }
}

void share_global_batch(const Expansion& expansion, std::vector<Combination>& combinations) {
  for (Combination& combination : combinations) {
    if (combination.options.global_batch || combination.options.program) continue;
    const std::optional<Workload> workload = workload_of(combination.options);
    if (workload)
      assign(expansion, "global-batch", fmt::format("{}", workload->batch), combination);
  }
}

}  // namespace ptbench
