#include "src/measure/field_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "src/base/error.h"
#include "src/measure/field_access.h"

namespace ptbench {
namespace {

template <auto... Members>
constexpr Field field(std::string_view path, Unit unit, std::string_view summary) {
  return {path, unit, summary, field_access::get<Members...>, field_access::set<Members...>};
}

/// Records know one unit only.
FieldValue get_throughput_unit(const RunRecord& /*run*/) {
  return std::string(name_of(Unit::samples_per_second));
}

bool set_throughput_unit(RunRecord& run, const FieldValue& value) {
  return field_access::is_unknown(value) || value == get_throughput_unit(run);
}

using Run = RunRecord;
using Strategy = StrategyRecord;
using Optimizer = OptimizerRecord;
using Steps = StepSecondsRecord;
using Phases = PhasesRecord;
using Compute = ComputeRecord;
using Verification = VerificationRecord;
using Scaling = ScalingRecord;
using Loss = ScalingLossRecord;
using Predicted = PredictedRecord;
using Versus = VersusRecord;

using enum Unit;

constexpr auto kFields = std::to_array<Field>({
    field<&Run::id>("id", none, "what was measured, unique in a file"),
    field<&Run::status>("status", none, "ok, failed, skipped or interrupted"),
    field<&Run::reason>("reason", none, "why the status is not ok"),

    field<&Run::engine, &EngineRecord::name>("engine.name", none, "what trained"),
    field<&Run::engine, &EngineRecord::version>("engine.version", none, "of the engine"),
    field<&Run::engine, &EngineRecord::command>("engine.command", none,
                                                "that was started, null: ptbench trained"),

    field<&Run::workload, &WorkloadRecord::name>("workload.name", none, "the model"),
    field<&Run::workload, &WorkloadRecord::file>("workload.file", none,
                                                 "the model file that describes it"),
    field<&Run::workload, &WorkloadRecord::digest>("workload.digest", none,
                                                   "equal for equal graphs and losses"),
    field<&Run::workload, &WorkloadRecord::parameters>("workload.parameters", count,
                                                       "scalars that training changes"),
    field<&Run::workload, &WorkloadRecord::flops_per_sample>(
        "workload.flops_per_sample", operations, "forward and backward of one sample"),
    field<&Run::workload, &WorkloadRecord::tokens_per_step>(
        "workload.tokens_per_step", count, "of all ranks, where a program reports them"),

    field<&Run::strategy, &Strategy::name>("strategy.name", none, "how the step is spread"),
    field<&Run::strategy, &Strategy::world_size>("strategy.world_size", count, "ranks or replicas"),
    field<&Run::strategy, &Strategy::hosts>("strategy.hosts", count, "hosts that the ranks are on"),
    field<&Run::strategy, &Strategy::threads>("strategy.threads", count,
                                              "threads of one CPU replica"),
    field<&Run::strategy, &Strategy::accumulation_steps>("strategy.accumulation_steps", count,
                                                         "micro-batches in an optimizer step"),
    field<&Run::strategy, &Strategy::precision>("strategy.precision", none, "compute type"),
    field<&Run::strategy, &Strategy::batch_per_replica>("strategy.batch_per_replica", count,
                                                        "samples in one replica's micro-batch"),
    field<&Run::strategy, &Strategy::global_batch>("strategy.global_batch", count,
                                                   "samples in an optimizer step"),
    field<&Run::strategy, &Strategy::bucket_bytes>("strategy.bucket_bytes", bytes,
                                                   "gradient bucket"),
    field<&Run::strategy, &Strategy::overlap>("strategy.overlap", none,
                                              "communicates during backward"),
    field<&Run::strategy, &Strategy::graph>("strategy.graph", none,
                                            "each step is given to the device as one graph"),
    field<&Run::strategy, &Strategy::communicator>("strategy.communicator", none,
                                                   "what moves gradients"),
    field<&Run::strategy, &Strategy::sends_values>(
        "strategy.sends_values", none, "the communicator sends values over a link or network"),
    field<&Run::strategy, &Strategy::launcher>("strategy.launcher", none,
                                               "command that started the ranks, null: ptbench"),
    field<&Run::strategy, &Strategy::plan_hash>("strategy.plan_hash", none,
                                                "equal for equal operator choices"),

    field<&Run::optimizer, &Optimizer::name>("optimizer.name", none, "update rule"),
    field<&Run::optimizer, &Optimizer::lr>("optimizer.lr", none, "learning rate"),
    field<&Run::optimizer, &Optimizer::momentum>("optimizer.momentum", none, "SGD's momentum"),
    field<&Run::optimizer, &Optimizer::weight_decay>("optimizer.weight_decay", none,
                                                     "weight decay"),
    field<&Run::optimizer, &Optimizer::beta1>("optimizer.beta1", none, "Adam's first decay"),
    field<&Run::optimizer, &Optimizer::beta2>("optimizer.beta2", none, "Adam's second decay"),
    field<&Run::optimizer, &Optimizer::epsilon>("optimizer.epsilon", none,
                                                "Adam's term outside the root"),

    field<&Run::data, &DataRecord::source>("data.source", none, "synthetic, or a directory"),
    field<&Run::data, &DataRecord::samples>("data.samples", count, "samples in an epoch"),
    field<&Run::data, &DataRecord::samples_left_out>(
        "data.samples_left_out", count, "samples of an epoch that fill no global batch"),
    field<&Run::data, &DataRecord::workers>("data.workers", count, "loader threads"),

    field<&Run::samples, &SamplesRecord::warmup_discarded>("samples.warmup_discarded", count,
                                                           "steps before measuring"),
    field<&Run::samples, &SamplesRecord::max_pairs>("samples.max_pairs", count,
                                                    "pairs that a gate might have measured"),
    field<&Run::samples, &SamplesRecord::first_look>("samples.first_look", count,
                                                     "pairs before a gate's first look at them"),
    field<&Run::samples, &SamplesRecord::count>("samples.count", count, "samples measured"),
    field<&Run::samples, &SamplesRecord::stop_reason>("samples.stop_reason", none,
                                                      "why measuring ended"),
    field<&Run::samples, &SamplesRecord::steps_per_sample>("samples.steps_per_sample", count,
                                                           "steps that one sample lasts"),
    field<&Run::samples, &SamplesRecord::quick>("samples.quick", none,
                                                "a first look: one process, for two seconds"),
    field<&Run::samples, &SamplesRecord::slowdown>("samples.slowdown", fraction,
                                                   "each step was made longer by this, on purpose"),
    field<&Run::samples, &SamplesRecord::slowdown_realized>(
        "samples.slowdown_realized", fraction, "by how much the measured steps really were longer"),

    field<&Run::step_seconds, &Steps::median>("step_seconds.median", seconds,
                                              "median time of a step"),
    field<&Run::step_seconds, &Steps::mean>("step_seconds.mean", seconds, "mean time of a step"),
    field<&Run::step_seconds, &Steps::stddev>("step_seconds.stddev", seconds,
                                              "standard deviation of the samples"),
    field<&Run::step_seconds, &Steps::min>("step_seconds.min", seconds, "smallest sample"),
    field<&Run::step_seconds, &Steps::max>("step_seconds.max", seconds, "largest sample"),
    field<&Run::step_seconds, &Steps::p10>("step_seconds.p10", seconds,
                                           "10th percentile of the samples"),
    field<&Run::step_seconds, &Steps::p90>("step_seconds.p90", seconds,
                                           "90th percentile of the samples"),
    field<&Run::step_seconds, &Steps::p95>("step_seconds.p95", seconds,
                                           "95th percentile of the samples"),
    field<&Run::step_seconds, &Steps::p99>("step_seconds.p99", seconds,
                                           "99th percentile of the samples"),
    field<&Run::step_seconds, &Steps::ci95, &Interval::low>(
        "step_seconds.ci95_low", seconds, "95 % interval across repetitions, low end"),
    field<&Run::step_seconds, &Steps::ci95, &Interval::high>(
        "step_seconds.ci95_high", seconds, "95 % interval across repetitions, high end"),
    field<&Run::step_seconds, &Steps::run_to_run_sd>(
        "step_seconds.run_to_run_sd", seconds, "standard deviation of the repetitions' medians"),

    field<&Run::throughput, &ThroughputRecord::value>("throughput.value", samples_per_second,
                                                      "samples over seconds in clean slices"),
    {"throughput.unit", none, "of throughput.value", get_throughput_unit, set_throughput_unit},
    field<&Run::throughput, &ThroughputRecord::ci95, &Interval::low>(
        "throughput.ci95_low", samples_per_second, "95 % interval across repetitions, low end"),
    field<&Run::throughput, &ThroughputRecord::ci95, &Interval::high>(
        "throughput.ci95_high", samples_per_second, "95 % interval across repetitions, high end"),
    field<&Run::throughput, &ThroughputRecord::tokens_per_second>(
        "throughput.tokens_per_second", tokens_per_second, "tokens over seconds in clean slices"),

    field<&Run::phases_seconds, &Phases::data>("phases_seconds.data", seconds, "waiting for input"),
    field<&Run::phases_seconds, &Phases::scatter>("phases_seconds.scatter", seconds,
                                                  "input to the replicas"),
    field<&Run::phases_seconds, &Phases::replicate>("phases_seconds.replicate", seconds,
                                                    "parameters to the replicas"),
    field<&Run::phases_seconds, &Phases::forward>("phases_seconds.forward", seconds,
                                                  "forward pass and loss"),
    field<&Run::phases_seconds, &Phases::gather>("phases_seconds.gather", seconds,
                                                 "outputs from the replicas"),
    field<&Run::phases_seconds, &Phases::backward>("phases_seconds.backward", seconds,
                                                   "backward pass"),
    field<&Run::phases_seconds, &Phases::reduce>("phases_seconds.reduce", seconds,
                                                 "gradients to one replica"),
    field<&Run::phases_seconds, &Phases::communication>("phases_seconds.communication", seconds,
                                                        "collectives, hidden part included"),
    field<&Run::phases_seconds, &Phases::communication_exposed>(
        "phases_seconds.communication_exposed", seconds, "collectives that no computation hides"),
    field<&Run::phases_seconds, &Phases::optimizer>("phases_seconds.optimizer", seconds,
                                                    "parameter update"),
    field<&Run::phases_seconds, &Phases::other>("phases_seconds.other", seconds,
                                                "rest of the step"),

    field<&Run::link, &LinkRecord::latency_seconds>(
        "link.latency_seconds", seconds, "of a few bytes, each of two hosts sending to the other"),
    field<&Run::link, &LinkRecord::bandwidth_bytes_per_second>(
        "link.bandwidth_bytes_per_second", bytes_per_second, "between two hosts, each way at once"),
    field<&Run::link, &LinkRecord::communicator>("link.communicator", none,
                                                 "what carried these messages"),

    field<&Run::memory, &MemoryRecord::before_bytes>("memory.before_bytes", bytes,
                                                     "resident before planning: program and data"),
    field<&Run::memory, &MemoryRecord::peak_bytes>("memory.peak_bytes", bytes,
                                                   "largest use, shared pages once"),
    field<&Run::memory, &MemoryRecord::predicted_bytes>("memory.predicted_bytes", bytes,
                                                        "what was expected before allocating"),

    field<&Run::compute, &Compute::flops_per_step>("compute.flops_per_step", operations,
                                                   "operations of an optimizer step"),
    field<&Run::compute, &Compute::executed_flops_per_step>(
        "compute.executed_flops_per_step", operations,
        "the same as executed: Winograd needs fewer"),
    field<&Run::compute, &Compute::flops_per_second>("compute.flops_per_second",
                                                     operations_per_second, "achieved"),
    field<&Run::compute, &Compute::peak_flops_per_second>(
        "compute.peak_flops_per_second", operations_per_second, "dense peak of the compute type"),
    field<&Run::compute, &Compute::utilization>("compute.utilization", fraction,
                                                "executed operations over peak"),
    field<&Run::compute, &Compute::effective_utilization>(
        "compute.effective_utilization", fraction, "all operations over peak, executed or not"),
    field<&Run::compute, &Compute::peak_source>("compute.peak_source", none,
                                                "where the peak comes from"),

    field<&Run::energy, &EnergyRecord::joules_per_step>("energy.joules_per_step", joules,
                                                        "energy of a step"),
    field<&Run::energy, &EnergyRecord::source>("energy.source", none, "which meter"),

    field<&Run::loss, &LossRecord::first>("loss.first", none, "loss of the first step"),
    field<&Run::loss, &LossRecord::last>("loss.last", none, "loss of the last step"),
    field<&Run::accuracy, &AccuracyRecord::train>("accuracy.train", fraction,
                                                  "right answers on the training set"),
    field<&Run::accuracy, &AccuracyRecord::test>("accuracy.test", fraction,
                                                 "right answers on the test set"),
    field<&Run::time_to_target_seconds>("time_to_target_seconds", seconds,
                                        "training time until the target was reached"),

    field<&Run::verification, &Verification::status>("verification.status", none,
                                                     "passed, weak, failed or not_run"),
    field<&Run::verification, &Verification::reason>("verification.reason", none,
                                                     "why it is not passed"),
    field<&Run::verification, &Verification::steps>("verification.steps", count, "steps compared"),
    field<&Run::verification, &Verification::lr>("verification.lr", none,
                                                 "learning rate of both sides"),
    field<&Run::verification, &Verification::max_relative_error>("verification.max_relative_error",
                                                                 none, "largest error"),
    field<&Run::verification, &Verification::tolerance>("verification.tolerance", none,
                                                        "largest error allowed"),
    field<&Run::verification, &Verification::worst_tensor>("verification.worst_tensor", none,
                                                           "which tensor erred most"),

    field<&Run::scaling, &Scaling::mode>("scaling.mode", none, "weak or strong"),
    field<&Run::scaling, &Scaling::baseline>("scaling.baseline", none,
                                             "id of the run compared with"),
    field<&Run::scaling, &Scaling::basis>("scaling.basis", none,
                                          "what speedup, efficiency and loss rest on"),
    field<&Run::scaling, &Scaling::rounds>("scaling.rounds", none,
                                           "rounds of turns that these rest on"),
    field<&Run::scaling, &Scaling::speedup>("scaling.speedup", none,
                                            "throughput over the baseline's"),
    field<&Run::scaling, &Scaling::efficiency>("scaling.efficiency", fraction,
                                               "speedup over world size"),
    field<&Run::scaling, &Scaling::efficiency_ci95, &Interval::low>(
        "scaling.efficiency_ci95_low", fraction, "95 % interval of the efficiency, low end"),
    field<&Run::scaling, &Scaling::efficiency_ci95, &Interval::high>(
        "scaling.efficiency_ci95_high", fraction, "95 % interval of the efficiency, high end"),
    field<&Run::scaling, &Scaling::efficiency_vs_one_rank>(
        "scaling.efficiency_vs_one_rank", fraction, "against the strategy's own single rank"),
    field<&Run::scaling, &Scaling::all_cores>("scaling.all_cores", none,
                                              "id of serial training on all cores"),
    field<&Run::scaling, &Scaling::efficiency_vs_all_cores>(
        "scaling.efficiency_vs_all_cores", fraction, "against serial training on all cores"),
    field<&Run::scaling, &Scaling::efficiency_vs_all_cores_ci95, &Interval::low>(
        "scaling.efficiency_vs_all_cores_ci95_low", fraction, "its 95 % interval, low end"),
    field<&Run::scaling, &Scaling::efficiency_vs_all_cores_ci95, &Interval::high>(
        "scaling.efficiency_vs_all_cores_ci95_high", fraction, "its 95 % interval, high end"),
    field<&Run::scaling, &Scaling::loss, &Loss::compute_slowdown>(
        "scaling.loss.compute_slowdown", fraction, "lost to slower computation"),
    field<&Run::scaling, &Scaling::loss, &Loss::batch_effect>("scaling.loss.batch_effect", fraction,
                                                              "lost to smaller micro-batches"),
    field<&Run::scaling, &Scaling::loss, &Loss::communication>(
        "scaling.loss.communication", fraction, "lost to exposed communication"),
    field<&Run::scaling, &Scaling::loss, &Loss::wait>("scaling.loss.wait", fraction,
                                                      "lost to waiting for other ranks"),
    field<&Run::scaling, &Scaling::loss, &Loss::data>("scaling.loss.data", fraction,
                                                      "lost to waiting for input"),
    field<&Run::scaling, &Scaling::loss, &Loss::overhead>("scaling.loss.overhead", fraction,
                                                          "lost to the rest"),
    field<&Run::scaling, &Scaling::one_host>("scaling.one_host", none,
                                             "id of the run of one host's ranks by themselves"),
    field<&Run::scaling, &Scaling::efficiency_within_hosts>(
        "scaling.efficiency_within_hosts", fraction, "of that run, against one rank"),
    field<&Run::scaling, &Scaling::efficiency_across_hosts>(
        "scaling.efficiency_across_hosts", fraction, "throughput over hosts times that run's"),
    field<&Run::scaling, &Scaling::efficiency_across_hosts_ci95, &Interval::low>(
        "scaling.efficiency_across_hosts_ci95_low", fraction, "its 95 % interval, low end"),
    field<&Run::scaling, &Scaling::efficiency_across_hosts_ci95, &Interval::high>(
        "scaling.efficiency_across_hosts_ci95_high", fraction, "its 95 % interval, high end"),
    field<&Run::scaling, &Scaling::predicted, &Predicted::step_seconds>(
        "scaling.predicted.step_seconds", seconds, "by the link's cost, where nothing overlaps"),
    field<&Run::scaling, &Scaling::predicted, &Predicted::efficiency_across_hosts>(
        "scaling.predicted.efficiency_across_hosts", fraction, "that follows from this step"),
    field<&Run::scaling, &Scaling::predicted, &Predicted::overlapped_step_seconds>(
        "scaling.predicted.overlapped_step_seconds", seconds,
        "by the link's cost, where everything overlaps that can"),
    field<&Run::scaling, &Scaling::predicted, &Predicted::overlapped_efficiency_across_hosts>(
        "scaling.predicted.overlapped_efficiency_across_hosts", fraction,
        "that follows from this step"),

    field<&Run::versus, &Versus::run>(
        "versus.run", none, "id of the same run by the engine that the sweep names first"),
    field<&Run::versus, &Versus::step_time_ratio>("versus.step_time_ratio", none,
                                                  "mean step over that run's"),
    field<&Run::versus, &Versus::step_time_ratio_ci95, &Interval::low>(
        "versus.step_time_ratio_ci95_low", none, "its 95 % interval, low end"),
    field<&Run::versus, &Versus::step_time_ratio_ci95, &Interval::high>(
        "versus.step_time_ratio_ci95_high", none, "its 95 % interval, high end"),
    field<&Run::versus, &Versus::pairs_in_turns>(
        "versus.pairs_in_turns", count,
        "repetitions that took turns with that run's, and that the ratio rests on"),
});

}  // namespace

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::none: return "";
    case Unit::count: return "count";
    case Unit::seconds: return "s";
    case Unit::bytes: return "B";
    case Unit::bytes_per_second: return "B/s";
    case Unit::fraction: return "fraction";
    case Unit::joules: return "J";
    case Unit::operations: return "FLOP";
    case Unit::operations_per_second: return "FLOP/s";
    case Unit::samples_per_second: return "samples/s";
    case Unit::tokens_per_second: return "tokens/s";
  }
  throw Defect("a unit without a name");
}

Bound Field::bound() const {
  if (path.ends_with("_low")) return Bound::low;
  return path.ends_with("_high") ? Bound::high : Bound::none;
}

std::string_view Field::json_path() const {
  constexpr std::string_view kLow = "_low";
  constexpr std::string_view kHigh = "_high";
  switch (bound()) {
    case Bound::none: return path;
    case Bound::low: return path.substr(0, path.size() - kLow.size());
    case Bound::high: return path.substr(0, path.size() - kHigh.size());
  }
  throw Defect("a bound without a path");
}

std::span<const Field> field_table() { return kFields; }

const Field& find_field(std::string_view path) {
  const auto* const field = std::ranges::find(kFields, path, &Field::path);
  if (field == kFields.end()) throw Defect(fmt::format("no field '{}' in the field table", path));
  return *field;
}

}  // namespace ptbench
