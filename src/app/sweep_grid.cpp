#include "src/app/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "src/app/configuration.h"
#include "src/app/run_arguments.h"
#include "src/app/run_options.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/measure/run_id.h"

namespace ptbench {
namespace {

/// One combination of values, as `run` would get it.
struct Combination {
  RunOptions options;
  std::vector<NamedAssignment> assignments;
};

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

class Expansion {
 public:
  explicit Expansion(const SweepOptions& sweep) : sweep_(sweep) {
    for (const OptionRow<RunOptions>& row : table_.rows()) rows_.emplace(row.info.name, &row);
  }

  /// `number` is read as digits, one a setting, the last one the lowest.
  [[nodiscard]] Combination combination(std::size_t number) const {
    std::vector<std::size_t> digits(sweep_.settings.size());
    for (std::size_t at = digits.size(); at-- > 0;) {
      const std::size_t base = sweep_.settings[at].values.size();
      digits[at] = number % base;
      number /= base;
    }
    Combination result{.options = sweep_.common, .assignments = {}};
    for (std::size_t at = 0; at < digits.size(); ++at)
      assign(sweep_.settings[at], digits[at], result);
    ignore_nproc_of_one_replica(result);
    return result;
  }

 private:
  void assign(const SweepSetting& setting, std::size_t digit, Combination& result) const {
    const std::string& value = setting.values.at(digit);
    const OptionRow<RunOptions>& row = *rows_.at(setting.option);
    if (setting.measured) row.set(result.options, row.info, value);
    result.assignments.push_back({setting.option, value});
  }

  static void ignore_nproc_of_one_replica(Combination& result) {
    if (find_strategy(result.options.strategy).several_ranks) return;
    result.options.nproc = 1;
    std::erase_if(result.assignments,
                  [](const NamedAssignment& given) { return given.name == "nproc"; });
  }

  const SweepOptions& sweep_;
  OptionTable<RunOptions> table_ = run_option_table();
  std::map<std::string, const OptionRow<RunOptions>*> rows_;
};

/// A row with more replicas would otherwise differ from one with fewer in two things at once.
void share_threads(std::vector<Combination>& combinations, const Topology& topology) {
  const auto cores = static_cast<Size>(topology.cores.size());
  const auto usual = [cores](Size nproc) { return std::max<Size>(1, cores / nproc); };
  Size most = 1;
  for (const Combination& combination : combinations)
    most = std::max(most, combination.options.nproc);
  for (Combination& combination : combinations) {
    RunOptions& options = combination.options;
    if (options.threads || usual(options.nproc) == usual(most)) continue;
    options.threads = usual(most);
    combination.assignments.push_back({"threads", fmt::format("{}", usual(most))});
  }
}

/// Empty where the model file cannot be read.
std::optional<Workload> workload_of(const RunOptions& options) {
  try {
    return find_workload(options.workload);
  } catch (const Error&) {
    return {};
  }
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
                            const std::string& reason) {
  const RunOptions& options = combination.options;
  const StrategyRow strategy = find_strategy(options.strategy);
  const std::optional<Workload> workload = workload_of(options);
  RunRecord record;
  record.status = Status::skipped;
  record.reason = reason;
  record.workload.name = workload ? workload->name : options.workload;
  if (options.workload.ends_with(".json")) record.workload.file = options.workload;
  record.strategy.name = strategy.name;
  record.strategy.world_size = options.nproc;
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
  record.strategy.threads = config.threads;
  record.strategy.accumulation_steps = config.step.accumulation_steps;
  record.strategy.precision = config.precision;
  record.strategy.batch_per_replica = config.batch;
  record.strategy.global_batch = config.global_batch;
  return record;
}

/// Rows by id, in the order in which they came.
class RowCollection {
 public:
  RowCollection(const SweepOptions& sweep, const Topology& topology)
      : sweep_(sweep), topology_(topology) {}

  void add(const Combination& combination) {
    try {
      insert({.record = possible_record(configure_run(combination.options, topology_)),
              .arguments = pass_on(combination.assignments).common});
    } catch (const Error& error) {
      if (error.code() != ExitCode::usage && error.code() != ExitCode::capability) throw;
      if (!first_error_) first_error_ = error;
      insert({.record = impossible_record(combination, sweep_, error.what()), .arguments = {}});
    }
  }

  [[nodiscard]] std::vector<SweepRow> finish() && {
    for (const SweepRow& row : rows_) refuse_namesake(row);
    if (std::ranges::any_of(rows_, &SweepRow::is_possible)) return std::move(rows_);
    const std::string why = first_error_.value().what();
    throw usage_error(
        rows_.size() == 1
            ? why
            : fmt::format("none of the {} rows is possible; the first: {}", rows_.size(), why),
        first_error_->remedy());
  }

 private:
  void insert(SweepRow row) {
    files_[row.id()].push_back(row.record.workload.file.value_or(""));
    const auto [known, is_new] = places_.try_emplace(row.id(), rows_.size());
    if (is_new)
      rows_.push_back(std::move(row));
    else if (row.is_possible() && !rows_[known->second].is_possible())
      rows_[known->second] = std::move(row);
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
  const Topology& topology_;
  std::vector<SweepRow> rows_;
  std::map<std::string, std::size_t> places_;
  std::map<std::string, std::vector<std::string>> files_;  ///< of the models, by id
  std::optional<Error> first_error_;
};

}  // namespace

std::vector<SweepRow> sweep_rows(const SweepOptions& options, const Topology& topology) {
  const Expansion expansion(options);
  const std::size_t count = combinations_of(options);
  std::vector<Combination> combinations;
  combinations.reserve(count);
  for (std::size_t number = 0; number < count; ++number)
    combinations.push_back(expansion.combination(number));
  share_threads(combinations, topology);
  RowCollection rows(options, topology);
  for (const Combination& combination : combinations) rows.add(combination);
  return std::move(rows).finish();
}

}  // namespace ptbench
