#include "src/session/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/config/configuration.h"
#include "src/config/run_arguments.h"
#include "src/measure/run_id.h"
#include "src/session/expected_time.h"
#include "src/session/sweep_combinations.h"
#include "src/session/sweep_references.h"

namespace ptbench {
namespace {

/// Empty where no row is compared.
std::optional<ScalingMode> mode_of(const SweepOptions& sweep,
                                   const std::vector<Combination>& combinations) {
  const bool has_global_batch = sweep.find("global-batch") != nullptr;
  if (sweep.scaling == ScalingMode::weak && has_global_batch)
    throw usage_error(
        "--scaling weak keeps the batch of each replica, but --global-batch sets the batch of all",
        "use --batch-size, or --scaling strong");
  for (const char* option : {"batch-size", "shares"})
    if (sweep.scaling == ScalingMode::strong && sweep.find(option) != nullptr)
      throw usage_error(
          fmt::format(
              "--scaling strong keeps the global batch, but --{} sets the batch of each replica",
              option),
          "use --global-batch, or --scaling weak");
  const bool has_several = std::ranges::any_of(
      combinations, [](const Combination& one) { return one.options.nproc > 1; });
  if (sweep.scaling || !has_several || sweep.scaling_off) return sweep.scaling;
  return has_global_batch ? ScalingMode::strong : ScalingMode::weak;
}

/// As near as one can say without a configuration.
Size batch_of(const RunOptions& options, const StrategyRow& strategy,
              const std::optional<Workload>& workload) {
  const Size parts = options.nproc * options.accumulate.value_or(strategy.accumulation_steps);
  if (options.global_batch) return std::max<Size>(1, *options.global_batch / parts);
  return options.batch_size.value_or(workload ? workload->batch : 1);
}

/// The id of a row without a configuration: names every option that could enter it.
std::string id_of_impossible(const Combination& combination, const SweepOptions& sweep,
                             const RunRecord& record) {
  constexpr std::array<std::string_view, 5> kKey{"workload", "strategy", "nproc", "batch-size",
                                                 "precision"};
  std::vector<OptionValue> others;
  for (const NamedAssignment& given : combination.assignments) {
    const SweepSetting* setting = sweep.find(given.name);
    const bool measured = setting == nullptr || setting->measured;
    if (measured && std::ranges::find(kKey, given.name) == kKey.end())
      others.push_back({given.name, given.text});
  }
  return run_id({.workload = record.workload.name,
                 .strategy = record.strategy.name,
                 .world_size = record.strategy.world_size,
                 .batch_per_replica = record.strategy.batch_per_replica.value_or(1),
                 .precision = record.strategy.precision},
                others);
}

RunRecord impossible_record(const Combination& combination, const SweepOptions& sweep,
                            const Topology& topology, const std::string& reason) {
  const RunOptions& options = combination.options;
  const StrategyRow strategy = find_strategy(options.strategy);
  const std::optional<Workload> workload = workload_of(options);
  RunRecord record;
  record.status = Status::skipped;
  record.reason = reason;
  record.workload.name = options.program ? options.name.value_or("program")
                         : workload      ? workload->name
                                         : options.workload;
  if (options.workload.ends_with(".json")) record.workload.file = options.workload;
  record.strategy.name = strategy.name;
  record.strategy.world_size = options.nproc;
  record.strategy.threads = options.threads.value_or(usual_threads(options.nproc, topology));
  record.strategy.precision =
      options.precision.value_or(strategy.mixed_precision ? "bf16" : "fp32");
  record.strategy.batch_per_replica = batch_of(options, strategy, workload);
  record.id = id_of_impossible(combination, sweep, record);
  return record;
}

RunRecord possible_record(const RunConfig& config) {
  RunRecord record;
  record.id = config.id;
  record.workload.name = config.workload.name;
  if (!config.workload.model_file.empty()) record.workload.file = config.workload.model_file;
  record.strategy.name = config.strategy.name;
  record.strategy.world_size = config.options.nproc;
  record.strategy.precision = config.precision;
  record.strategy.threads = config.threads;
  record.strategy.batch_per_replica = config.batch_size();
  if (config.options.program) return record;
  record.strategy.accumulation_steps = config.batch.accumulation_steps;
  record.strategy.global_batch = config.batch.global_batch();
  record.data.workers = config.options.data_workers;
  return record;
}

/// Rows by id, in the order in which they came.
class RowCollection {
 public:
  /// `references` is null where no row is compared.
  RowCollection(const SweepOptions& sweep, const Expansion& expansion, const Topology& topology,
                const References* references)
      : sweep_(sweep), expansion_(expansion), topology_(topology), references_(references) {}

  void add(const Combination& combination) { insert(row_of(combination)); }

  [[nodiscard]] std::vector<SweepRow> finish() && {
    for (const SweepRow& row : rows_) refuse_namesake(row);
    if (std::ranges::any_of(rows_, &SweepRow::is_possible)) return with_baselines();
    const std::string why = first_error_.value().what();
    throw usage_error(
        rows_.size() == 1
            ? why
            : fmt::format("none of the {} rows is possible; the first: {}", rows_.size(), why),
        first_error_->remedy());
  }

 private:
  /// A row, and what it was made from where it is possible.
  struct Tried {
    SweepRow row;
    std::optional<RunConfig> config;
  };

  Tried tried(const Combination& combination) {
    try {
      RunConfig config = configure_run(as_launched(combination.options), topology_);
      Assignments given = combination.assignments;
      const std::optional<RankLauncher> launcher = launcher_for(config);
      // Ranks that a launcher starts are not started by each process again.
      if (launcher) leave_out(given, std::array<std::string_view, 1>{"nproc"});
      SweepRow row = sweep_row(config, given);
      row.launcher = launcher;
      return {.row = std::move(row), .config = std::move(config)};
    } catch (const Error& error) {
      if (!is_refusal(error.code())) throw;
      if (!first_error_) first_error_ = error;
      return {.row = {.record = impossible_record(combination, sweep_, topology_, reason_of(error)),
                      .launcher = {}},
              .config = {}};
    }
  }

  /// A launcher's ranks may be on other hosts too, which have cores of their own: ranks count them.
  [[nodiscard]] RunOptions as_launched(RunOptions options) const {
    const StrategyRow strategy = find_strategy(options.strategy);
    const bool is_launched = sweep_.launcher && strategy.several_ranks && !strategy.one_process;
    if (is_launched && !options.device.starts_with("cuda")) options.oversubscribe = true;
    return options;
  }

  /// Strategies of one process have no ranks to start.
  [[nodiscard]] std::optional<RankLauncher> launcher_for(const RunConfig& config) const {
    if (!sweep_.launcher || !config.needs_ranks()) return {};
    return launcher_of(*sweep_.launcher, config.options.nproc);
  }

  SweepRow row_of(const Combination& combination) {
    auto [row, config] = tried(combination);
    if (references_ != nullptr && config) row.scaling = plan_of(*config, combination.assignments);
    row.first_engine = first_engine_of(combination);
    return std::move(row);
  }

  /// Of a reference, which is compared with no other one.
  SweepRow reference_row_of(const Combination& combination) {
    SweepRow row = tried(combination).row;
    row.first_engine = first_engine_of(combination);
    return row;
  }

  /// Id of the row of the first engine; empty where the row is of that one, or the only engine's.
  [[nodiscard]] std::string first_engine_of(const Combination& combination) {
    const SweepSetting* engines = sweep_.find("engine");
    if (engines == nullptr || engines->values.size() < 2) return {};
    Assignments given = combination.assignments;
    const auto engine = std::ranges::find(given, "engine", &NamedAssignment::name);
    if (engine == given.end() || engine->text == engines->values.front()) return {};
    engine->text = engines->values.front();
    return tried(expansion_.of(std::move(given))).row.id();
  }

  /// Keeps the baseline, should it not be in the grid.
  ScalingPlan plan_of(const RunConfig& config, const Assignments& assignments) {
    const Combination baseline = references_->baseline(config, assignments);
    const Combination one_rank = references_->one_rank(config, assignments);
    ScalingPlan plan{.mode = references_->mode(),
                     .baseline = tried(baseline).row.id(),
                     .one_rank = tried(one_rank).row.id(),
                     .all_cores = {}};
    baselines_.try_emplace(plan.baseline, baseline);
    if (const auto all_cores = references_->all_cores(config, assignments)) {
      plan.all_cores = tried(*all_cores).row.id();
      on_all_cores_.try_emplace(plan.all_cores, *all_cores);
    }
    if (const auto same = references_->same_micro_batch(config, assignments)) {
      plan.same_micro_batch = tried(*same).row.id();
      of_micro_batches_.try_emplace(plan.same_micro_batch, *same);
    }
    return plan;
  }

  void insert(SweepRow row) {
    files_[row.id()].push_back(row.record.workload.file.value_or(""));
    const auto [known, is_new] = places_.try_emplace(row.id(), rows_.size());
    if (is_new)
      rows_.push_back(std::move(row));
    else if (row.is_possible() && !rows_[known->second].is_possible())
      rows_[known->second] = std::move(row);
  }

  /// What a row is compared with is measured just before it; serial training on all cores, and with
  /// micro-batches of its own, last.
  std::vector<SweepRow> with_baselines() {
    std::vector<SweepRow> all;
    for (SweepRow& row : rows_) {
      const std::string baseline = row.scaling ? row.scaling->baseline : row.id();
      if (places_.try_emplace(baseline, rows_.size()).second)
        all.push_back(row_of(baselines_.at(baseline)));
      all.push_back(std::move(row));
    }
    for (const auto* more : {&on_all_cores_, &of_micro_batches_})
      for (const auto& [id, combination] : *more)
        if (places_.try_emplace(id, all.size()).second)
          all.push_back(reference_row_of(combination));
    return all;
  }

  /// Models of one name would be taken for one configuration.
  void refuse_namesake(const SweepRow& row) const {
    const std::vector<std::string>& files = files_.at(row.id());
    const auto other = std::ranges::adjacent_find(files, std::ranges::not_equal_to());
    if (other == files.end()) return;
    throw usage_error(
        fmt::format("two of the models are called '{}'", printable(row.record.workload.name)),
        "give the model in one of the files another name");
  }

  const SweepOptions& sweep_;
  const Expansion& expansion_;
  const Topology& topology_;
  const References* references_;
  std::vector<SweepRow> rows_;
  std::map<std::string, std::size_t> places_;
  std::map<std::string, Combination> baselines_;           ///< by id
  std::map<std::string, Combination> on_all_cores_;        ///< serial ones, by id
  std::map<std::string, Combination> of_micro_batches_;    ///< the same
  std::map<std::string, std::vector<std::string>> files_;  ///< of the models, by id
  std::optional<Error> first_error_;
};

void require_launched(const std::vector<SweepRow>& rows) {
  const bool any = std::ranges::any_of(rows, [](const SweepRow& row) {
    return row.launcher || (!row.is_possible() && row.record.strategy.world_size > 1);
  });
  if (!any)
    throw usage_error("--launcher has nothing to start: no row has several ranks",
                      "add --strategy ddp and --nproc 1,2, or leave it out");
}

}  // namespace

SweepRow sweep_row(const RunConfig& config, std::span<const NamedAssignment> assignments) {
  return {.record = possible_record(config),
          .arguments = pass_on(assignments).common,
          .launcher = {},
          .starts_program = config.program.has_value(),
          .needs_preparation = config.needs_preparation(),
          .step_operations = operations_of_step(config),
          .reads_data = config.options.data != "synthetic"};
}

std::vector<SweepRow> sweep_rows(const SweepOptions& options, const Topology& topology) {
  const Expansion expansion(options);
  const std::size_t count = combinations_of(options);
  std::vector<Combination> combinations;
  combinations.reserve(count);
  for (std::size_t number = 0; number < count; ++number)
    combinations.push_back(expansion.combination(number));
  share_threads(expansion, topology, combinations);
  const std::optional<ScalingMode> mode = mode_of(options, combinations);
  if (mode == ScalingMode::strong) share_global_batch(expansion, combinations);
  std::optional<References> references;
  if (mode) references.emplace(expansion, topology, *mode, most_cores_of(combinations, topology));
  RowCollection rows(options, expansion, topology, references ? &*references : nullptr);
  for (const Combination& combination : combinations) rows.add(combination);
  std::vector<SweepRow> all = std::move(rows).finish();
  if (options.launcher) require_launched(all);
  return all;
}

}  // namespace ptbench
