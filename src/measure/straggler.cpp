#include "src/measure/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/number.h"
#include "src/base/units.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

constexpr double kStraggles = 0.05;
constexpr const char* kStraggler = "straggler";
constexpr const char* kSharedCores = "oversubscribed-cores";

/// The value of an option that is not at its default; empty for the others.
std::string_view value_in_id(const RunRecord& run, std::string_view option) {
  const std::string key = fmt::format("/{}=", option);
  const std::size_t begin = run.id.find(key);
  if (begin == std::string::npos) return {};
  const std::string_view rest = std::string_view(run.id).substr(begin + key.size());
  return rest.substr(0, rest.find('/'));
}

/// Whether another rank's share of "96,32" is smaller.
bool has_larger_share(std::string_view list, Size rank) {
  std::vector<std::uint64_t> shares;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    shares.push_back(parse_whole(list.substr(0, comma)).value_or(0));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return rank < std::ssize(shares) &&
         shares[static_cast<std::size_t>(rank)] > std::ranges::min(shares);
}

/// Whether computing is told apart from waiting for others: ptbench's own strategies always do.
bool tells_waiting(const RunRecord& run) {
  const PhasesRecord& phases = run.phases_seconds;
  return run.engine.name.value_or("native") == "native" || phases.communication ||
         phases.communication_exposed;
}

}  // namespace

std::optional<Straggler> find_straggler(const RunRecord& run) {
  if (!tells_waiting(run)) return {};
  std::vector<double> others;
  const RankRecord* slowest = nullptr;
  for (const RankRecord& rank : run.ranks) {
    if (!is_positive(rank.compute_seconds)) continue;
    others.push_back(*rank.compute_seconds);
    if (slowest == nullptr || *rank.compute_seconds > *slowest->compute_seconds) slowest = &rank;
  }
  if (others.size() < 2) return {};
  others.erase(std::ranges::max_element(others));
  const double share = *slowest->compute_seconds / median(others) - 1;
  if (!(share > kStraggles)) return {};
  return Straggler{.rank = slowest->rank, .share = share};
}

std::string slowing_options(const RunRecord& run, Size rank) {
  const bool shares = has_larger_share(value_in_id(run, "shares"), rank);
  const bool slow = value_in_id(run, "slow-rank").starts_with(fmt::format("{}:", rank));
  if (shares && slow) return "--shares and --slow-rank";
  if (shares) return "--shares";
  return slow ? "--slow-rank" : "";
}

bool shares_cores(const RunRecord& run) {
  return std::ranges::find(run.warnings, kSharedCores, &WarningRecord::code) != run.warnings.end();
}

void add_straggler_warning(RunRecord& run) {
  remove_warning(run, kStraggler);
  const std::optional<Straggler> straggler = find_straggler(run);
  if (!straggler) return;
  const std::string options = slowing_options(run, straggler->rank);
  if (options.empty() && shares_cores(run)) return;
  run.warnings.push_back(
      {.code = kStraggler,
       .message = fmt::format("rank {} computes {} longer than the others, which wait for it",
                              straggler->rank, format_percent(straggler->share)),
       .remedy = options.empty() ? "Close other programs on its cores, and check that these cores "
                                   "are as fast as the others'."
                                 : fmt::format("That was on purpose: leave out {}.", options)});
}

}  // namespace ptbench
