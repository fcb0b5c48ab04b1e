#include "page/run_words.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "src/base/units.h"
#include "src/measure/reliability.h"

namespace ptbench {
namespace {

std::string strategy_words(const RunRecord& run) {
  const Size ranks = run.strategy.world_size;
  return ranks > 1 ? fmt::format("{} on {} ranks", run.strategy.name, ranks) : run.strategy.name;
}

std::string threads_words(const RunRecord& run) {
  const Size threads = run.strategy.threads.value_or(0);
  return threads > 0 ? fmt::format("{} thread{}", threads, threads == 1 ? "" : "s") : "";
}

std::string batch_words(const RunRecord& run) {
  return run.strategy.batch_per_replica ? fmt::format("batch {}", *run.strategy.batch_per_replica)
                                        : "";
}

std::string precision_words(const RunRecord& run) { return run.strategy.precision; }

constexpr std::array kQualities{precision_words, batch_words, threads_words};

/// The values that runs of one name have of each quality.
using Qualities = std::array<std::set<std::string>, kQualities.size()>;

/// With those qualities in which any of the runs that are called `name` differs from another.
std::string qualified(const std::string& name, const RunRecord& run, const Qualities& alike) {
  std::string qualities;
  for (std::size_t at = 0; at < kQualities.size(); ++at) {
    const std::string own = kQualities[at](run);
    if (alike[at].size() > 1 && !own.empty()) qualities += (qualities.empty() ? "" : ", ") + own;
  }
  return qualities.empty() ? name : fmt::format("{} ({})", name, qualities);
}

}  // namespace

bool has_throughput(const RunRecord& run) {
  return reliability_of(run).trust != Trust::not_measured &&
         run.verification.status != VerificationStatus::failed;
}

std::string speed_text(const RunRecord& run) {
  return format_si(run.throughput.value.value_or(0)) + " samples/s";
}

std::string throughput_words(const RunRecord& run) {
  const auto half = reliability_of(run).half_width;
  return half ? fmt::format("{} ± {}", speed_text(run), noise_text(*half)) : speed_text(run);
}

std::vector<std::string> names_of(std::span<const RunRecord* const> runs) {
  std::map<std::string, Qualities> alike;
  for (const RunRecord* run : runs)
    for (std::size_t at = 0; at < kQualities.size(); ++at)
      alike[strategy_words(*run)][at].insert(kQualities[at](*run));
  std::vector<std::string> names;
  std::map<std::string, Size> taken;
  for (const RunRecord* run : runs) {
    const std::string name = strategy_words(*run);
    names.push_back(qualified(name, *run, alike[name]));
    ++taken[names.back()];
  }
  for (std::size_t at = 0; at < names.size(); ++at)
    if (taken[names[at]] > 1) names[at] = runs[at]->id;
  return names;
}

}  // namespace ptbench
