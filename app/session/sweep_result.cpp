// What a sweep tells of what it has measured.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/session/sweep.h"
#include "app/session/sweep_records.h"
#include "src/judge/counterpart_ratio.h"
#include "src/judge/scaling.h"
#include "src/measure/noise_warnings.h"
#include "src/measure/straggler.h"

namespace ptbench {

void Sweep::warn_of_noise(RunRecord& record) const {
  if (record.samples.repetitions.empty()) return;
  add_noise_warnings(record,
                     {.fixed_length = length_.is_fixed,
                      .cores = record.strategy.threads.value_or(1) * record.strategy.world_size,
                      .max_time_seconds = length_.max_time_seconds,
                      .in_sweep = true,
                      .prior = around_.prior});
}

/// What `compare` will say of them when all has been measured.
void Sweep::warn_of_plans() const {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::vector<std::string> plans;
    for (std::size_t side = 0; side < sides_.size(); ++side)
      if (const auto& record = cell(row, side).record; record && record->strategy.plan_hash)
        plans.push_back(*record->strategy.plan_hash);
    if (std::ranges::adjacent_find(plans, std::ranges::not_equal_to()) != plans.end())
      around_.warn(
          fmt::format("row '{}' has another plan in each build ({}): compare gives no "
                      "verdict on it without --ignore-environment",
                      rows_[row].id(), fmt::join(plans, " / ")));
  }
}

/// Writing takes a twentieth of the time at most: files of long sweeps are large.
void Sweep::save_if_due() {
  const double begin = around_.clock.now();
  if (begin < next_save_) return;
  save_all();
  const double end = around_.clock.now();
  next_save_ = end + std::max(1.0, 20 * (end - begin));
}

void Sweep::save_all() {
  for (std::size_t side = 0; side < sides_.size(); ++side) around_.save(side, result(side));
}

void Sweep::mark_interrupted() {
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      Cell& measured = cell(row, side);
      const bool was_hit = measured.record && measured.record->status == Status::interrupted;
      const bool is_cut =
          measured.record && repetitions_of(*measured.record) > measured.repetitions;
      const bool wants_more = length_.needs_more != nullptr && needs_more(row);
      const bool is_complete = measured.is_over || is_cut_[row] ||
                               (measured.repetitions >= length_.rounds && !wants_more);
      if (!rows_[row].is_possible() || is_cut || (is_complete && !was_hit)) continue;
      if (!measured.record) measured.record = rows_[row].record;
      measured.record->status = Status::interrupted;
      measured.record->reason =
          fmt::format("{}{} of {} rounds", kAfterRounds, measured.repetitions,
                      measured.repetitions < length_.rounds ? length_.rounds : length_.most_rounds);
    }
}

std::optional<ScalingPlan> Sweep::plan_of(std::size_t row, std::size_t side) const {
  std::optional<ScalingPlan> plan = rows_[row].scaling;
  if (plan) plan->in_rounds = cell(row, side).in_rounds;
  return plan;
}

ResultFile Sweep::result(std::size_t side) const {
  ResultFile result = sides_.at(side).header;
  std::vector<std::optional<ScalingPlan>> plans;
  std::vector<EnginePlan> engines;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::optional<RunRecord>& measured = cell(row, side).record;
    if (!measured && rows_[row].is_possible()) continue;
    result.runs.push_back(measured ? *measured : rows_[row].record);
    plans.push_back(plan_of(row, side));
    engines.push_back(
        {.reference = rows_[row].first_engine, .in_rounds = cell(row, side).in_rounds});
    add_straggler_warning(result.runs.back());
  }
  add_scaling(result.runs, plans, around_.prior);
  add_engine_ratios(result.runs, engines, around_.prior);
  add_precision_warnings(result.runs, around_.prior);
  result.runs.insert(result.runs.end(), others_[side].begin(), others_[side].end());
  return result;
}

ExitCode Sweep::exit_code() const {
  if (interrupted_) return ExitCode::interrupted;
  const bool failed = std::ranges::any_of(cells_, [](const Cell& measured) {
    return measured.record && measured.record->status == Status::failed;
  });
  return failed ? ExitCode::failed : ExitCode::ok;
}

std::optional<Error> Sweep::refusal() const {
  const bool any_was_tried = std::ranges::any_of(cells_, [](const Cell& measured) {
    return measured.record && measured.record->status != Status::skipped;
  });
  return any_was_tried ? std::nullopt : refusal_;
}

}  // namespace ptbench
