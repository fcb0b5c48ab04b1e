#include "app/session/sweep_references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "strategies/strategy_catalog.h"

namespace ptbench {
namespace {

bool has(const Assignments& assignments, std::string_view name) {
  return std::ranges::find(assignments, name, &NamedAssignment::name) != assignments.end();
}

}  // namespace

std::optional<Combination> References::all_cores(const RunConfig& config,
                                                 const Assignments& given) const {
  if (config.options.program || most_cores_ < 2 ||
      cores_of(config.options.nproc * config.threads) != most_cores_)
    return {};
  Assignments serial = baseline(config, given).assignments;
  leave_out(serial, std::array<std::string_view, 2>{"batch-size", "threads"});
  const Size batch = config.batch.together();
  serial.push_back({"batch-size", fmt::format("{}", batch)});
  if (most_cores_ != usual_threads(1, topology_))
    serial.push_back({"threads", fmt::format("{}", most_cores_)});
  return expansion_.of(std::move(serial));
}

std::optional<Combination> References::same_micro_batch(const RunConfig& config,
                                                        const Assignments& given) const {
  if (config.options.program || mode_ != ScalingMode::strong || config.options.nproc == 1 ||
      !config.batch.shares.empty())
    return {};
  Assignments serial = baseline(config, given).assignments;
  leave_out(serial, std::array<std::string_view, 1>{"batch-size"});
  serial.push_back({"batch-size", fmt::format("{}", config.batch_size())});
  return expansion_.of(std::move(serial));
}

Combination References::baseline(const RunConfig& config, Assignments given) const {
  if (config.options.program) return one_rank(config, std::move(given));
  const StrategyRow serial = find_strategy("serial");
  leave_out_sharing(given);
  leave_out(given, std::array<std::string_view, 3>{"strategy", "accumulate", "precision"});
  given.insert(given.begin(), {"strategy", serial.name});
  const Size accumulation = config.batch.accumulation_steps;
  if (accumulation != serial.accumulation_steps)
    given.push_back({"accumulate", fmt::format("{}", accumulation)});
  if (config.precision != "fp32") given.push_back({"precision", config.precision});
  return expansion_.of(with_work_of(config, std::move(given)));
}

Combination References::one_rank(const RunConfig& config, Assignments given) const {
  leave_out(given, std::array<std::string_view, 3>{"nproc", "slow-rank", "shares"});
  if (config.options.program) {  // its work stands in its command
    given.push_back({"nproc", "1"});
    if (has_placeholder(*config.options.program, "threads")) add_threads_of(config, given);
    return expansion_.of(std::move(given));
  }
  return expansion_.of(with_work_of(config, std::move(given)));
}

Size References::cores_of(Size threads) const {
  return std::min(threads, std::ssize(topology_.cores));
}

Assignments References::with_work_of(const RunConfig& config, Assignments given) const {
  leave_out(given, std::array<std::string_view, 2>{"batch-size", "global-batch"});
  given.push_back({"batch-size", fmt::format("{}", batch_of_one_rank(config))});
  add_threads_of(config, given);
  return given;
}

void References::add_threads_of(const RunConfig& config, Assignments& given) const {
  if (!has(given, "threads") && config.threads != usual_threads(1, topology_))
    given.push_back({"threads", fmt::format("{}", config.threads)});
}

/// The mean one in weak scaling, should replicas differ.
Size References::batch_of_one_rank(const RunConfig& config) const {
  const Size together = config.batch.together();
  const Size ranks = mode_ == ScalingMode::weak ? config.options.nproc : 1;
  return std::max<Size>(1, together / ranks);
}

}  // namespace ptbench
