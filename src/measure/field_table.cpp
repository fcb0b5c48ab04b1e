#include "src/measure/field_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <optional>

#include "src/base/error.h"

namespace ptbench {
namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
FieldValue to_value(const T& value) {
  if constexpr (IsOptional<T>::value)
    return value ? to_value(*value) : FieldValue{};
  else if constexpr (std::integral<T> && !std::same_as<T, bool>)
    return static_cast<std::int64_t>(value);
  else if constexpr (std::floating_point<T>)
    return std::isfinite(value) ? FieldValue{value} : FieldValue{};
  else if constexpr (std::is_enum_v<T>)
    return std::string(name_of(value));
  else
    return value;
}

template <class Object, class Member, class... Rest>
FieldValue follow(const Object& object, Member member, Rest... rest) {
  if constexpr (IsOptional<Object>::value)
    return object ? follow(*object, member, rest...) : FieldValue{};
  else if constexpr (sizeof...(Rest) == 0)
    return to_value(object.*member);
  else
    return follow(object.*member, rest...);
}

/// The getter of a chain of members; an empty optional on the way makes the value unknown.
template <auto... Members>
FieldValue get(const RunRecord& run) {
  return follow(run, Members...);
}

using Run = RunRecord;
using Strategy = StrategyRecord;
using Optimizer = OptimizerRecord;
using Samples = SamplesRecord;
using Steps = StepSecondsRecord;
using Phases = PhasesRecord;
using Compute = ComputeRecord;
using Verification = VerificationRecord;
using Scaling = ScalingRecord;
using Loss = ScalingLossRecord;

using enum Unit;

constexpr auto kFields = std::to_array<Field>({
    {"id", none, "what was measured, unique in a file", get<&Run::id>},
    {"status", none, "ok, failed, skipped or interrupted", get<&Run::status>},
    {"reason", none, "why the status is not ok", get<&Run::reason>},

    {"workload.name", none, "the model", get<&Run::workload, &WorkloadRecord::name>},
    {"workload.file", none, "the model file that describes it",
     get<&Run::workload, &WorkloadRecord::file>},
    {"workload.parameters", count, "scalars that training changes",
     get<&Run::workload, &WorkloadRecord::parameters>},
    {"workload.flops_per_sample", operations, "forward and backward of one sample",
     get<&Run::workload, &WorkloadRecord::flops_per_sample>},

    {"strategy.name", none, "how the step is spread", get<&Run::strategy, &Strategy::name>},
    {"strategy.world_size", count, "ranks or replicas", get<&Run::strategy, &Strategy::world_size>},
    {"strategy.threads", count, "threads of one CPU replica",
     get<&Run::strategy, &Strategy::threads>},
    {"strategy.accumulation_steps", count, "micro-batches in an optimizer step",
     get<&Run::strategy, &Strategy::accumulation_steps>},
    {"strategy.precision", none, "compute type", get<&Run::strategy, &Strategy::precision>},
    {"strategy.batch_per_replica", count, "samples in one replica's micro-batch",
     get<&Run::strategy, &Strategy::batch_per_replica>},
    {"strategy.global_batch", count, "samples in an optimizer step",
     get<&Run::strategy, &Strategy::global_batch>},
    {"strategy.bucket_bytes", bytes, "gradient bucket",
     get<&Run::strategy, &Strategy::bucket_bytes>},
    {"strategy.overlap", none, "communicates during backward",
     get<&Run::strategy, &Strategy::overlap>},
    {"strategy.communicator", none, "who moves gradients",
     get<&Run::strategy, &Strategy::communicator>},
    {"strategy.plan_hash", none, "equal for equal operator choices",
     get<&Run::strategy, &Strategy::plan_hash>},

    {"optimizer.name", none, "update rule", get<&Run::optimizer, &Optimizer::name>},
    {"optimizer.lr", none, "learning rate", get<&Run::optimizer, &Optimizer::lr>},
    {"optimizer.momentum", none, "SGD's momentum", get<&Run::optimizer, &Optimizer::momentum>},
    {"optimizer.weight_decay", none, "weight decay",
     get<&Run::optimizer, &Optimizer::weight_decay>},
    {"optimizer.beta1", none, "Adam's first decay", get<&Run::optimizer, &Optimizer::beta1>},
    {"optimizer.beta2", none, "Adam's second decay", get<&Run::optimizer, &Optimizer::beta2>},
    {"optimizer.epsilon", none, "Adam's term outside the root",
     get<&Run::optimizer, &Optimizer::epsilon>},

    {"data.source", none, "synthetic, or a directory", get<&Run::data, &DataRecord::source>},
    {"data.samples", count, "samples in an epoch", get<&Run::data, &DataRecord::samples>},
    {"data.samples_left_out", count, "samples of an epoch that fill no global batch",
     get<&Run::data, &DataRecord::samples_left_out>},
    {"data.workers", count, "loader threads", get<&Run::data, &DataRecord::workers>},

    {"samples.warmup_discarded", count, "steps before measuring",
     get<&Run::samples, &Samples::warmup_discarded>},
    {"samples.count", count, "samples measured", get<&Run::samples, &Samples::count>},
    {"samples.stop_reason", none, "why measuring ended", get<&Run::samples, &Samples::stop_reason>},
    {"samples.steps_per_sample", count, "steps that one sample lasts",
     get<&Run::samples, &Samples::steps_per_sample>},

    {"step_seconds.median", seconds, "median time of a step",
     get<&Run::step_seconds, &Steps::median>},
    {"step_seconds.mean", seconds, "mean time of a step", get<&Run::step_seconds, &Steps::mean>},
    {"step_seconds.stddev", seconds, "standard deviation of the samples",
     get<&Run::step_seconds, &Steps::stddev>},
    {"step_seconds.min", seconds, "least sample", get<&Run::step_seconds, &Steps::min>},
    {"step_seconds.max", seconds, "largest sample", get<&Run::step_seconds, &Steps::max>},
    {"step_seconds.p10", seconds, "10th percentile of the samples",
     get<&Run::step_seconds, &Steps::p10>},
    {"step_seconds.p90", seconds, "90th percentile of the samples",
     get<&Run::step_seconds, &Steps::p90>},
    {"step_seconds.p95", seconds, "95th percentile of the samples",
     get<&Run::step_seconds, &Steps::p95>},
    {"step_seconds.p99", seconds, "99th percentile of the samples",
     get<&Run::step_seconds, &Steps::p99>},
    {"step_seconds.ci95_low", seconds, "95 % interval across repetitions, low end",
     get<&Run::step_seconds, &Steps::ci95, &Interval::low>},
    {"step_seconds.ci95_high", seconds, "95 % interval across repetitions, high end",
     get<&Run::step_seconds, &Steps::ci95, &Interval::high>},
    {"step_seconds.run_to_run_sd", seconds, "standard deviation of the repetitions' medians",
     get<&Run::step_seconds, &Steps::run_to_run_sd>},

    {"throughput.value", samples_per_second, "global batch over the slowest rank's step time",
     get<&Run::throughput, &ThroughputRecord::value>},
    {"throughput.unit", none, "of throughput.value",
     [](const Run&) { return FieldValue{std::string(name_of(samples_per_second))}; }},
    {"throughput.ci95_low", samples_per_second, "95 % interval across repetitions, low end",
     get<&Run::throughput, &ThroughputRecord::ci95, &Interval::low>},
    {"throughput.ci95_high", samples_per_second, "95 % interval across repetitions, high end",
     get<&Run::throughput, &ThroughputRecord::ci95, &Interval::high>},

    {"phases_seconds.data", seconds, "waiting for input", get<&Run::phases_seconds, &Phases::data>},
    {"phases_seconds.scatter", seconds, "input to the replicas",
     get<&Run::phases_seconds, &Phases::scatter>},
    {"phases_seconds.replicate", seconds, "parameters to the replicas",
     get<&Run::phases_seconds, &Phases::replicate>},
    {"phases_seconds.forward", seconds, "forward pass and loss",
     get<&Run::phases_seconds, &Phases::forward>},
    {"phases_seconds.gather", seconds, "outputs from the replicas",
     get<&Run::phases_seconds, &Phases::gather>},
    {"phases_seconds.backward", seconds, "backward pass",
     get<&Run::phases_seconds, &Phases::backward>},
    {"phases_seconds.reduce", seconds, "gradients to one replica",
     get<&Run::phases_seconds, &Phases::reduce>},
    {"phases_seconds.communication", seconds, "collectives, hidden part included",
     get<&Run::phases_seconds, &Phases::communication>},
    {"phases_seconds.communication_exposed", seconds, "collectives that no computation hides",
     get<&Run::phases_seconds, &Phases::communication_exposed>},
    {"phases_seconds.optimizer", seconds, "parameter update",
     get<&Run::phases_seconds, &Phases::optimizer>},
    {"phases_seconds.other", seconds, "rest of the step",
     get<&Run::phases_seconds, &Phases::other>},

    {"memory.before_bytes", bytes, "resident before planning: program and data",
     get<&Run::memory, &MemoryRecord::before_bytes>},
    {"memory.peak_bytes", bytes, "largest use, shared pages once",
     get<&Run::memory, &MemoryRecord::peak_bytes>},
    {"memory.predicted_bytes", bytes, "what was expected before allocating",
     get<&Run::memory, &MemoryRecord::predicted_bytes>},

    {"compute.flops_per_step", operations, "operations of an optimizer step",
     get<&Run::compute, &Compute::flops_per_step>},
    {"compute.flops_per_second", operations_per_second, "achieved",
     get<&Run::compute, &Compute::flops_per_second>},
    {"compute.peak_flops_per_second", operations_per_second, "dense peak of the compute type",
     get<&Run::compute, &Compute::peak_flops_per_second>},
    {"compute.utilization", fraction, "achieved over peak",
     get<&Run::compute, &Compute::utilization>},
    {"compute.peak_source", none, "where the peak comes from",
     get<&Run::compute, &Compute::peak_source>},

    {"energy.joules_per_step", joules, "energy of a step",
     get<&Run::energy, &EnergyRecord::joules_per_step>},
    {"energy.source", none, "which meter", get<&Run::energy, &EnergyRecord::source>},

    {"loss.first", none, "loss of the first step", get<&Run::loss, &LossRecord::first>},
    {"loss.last", none, "loss of the last step", get<&Run::loss, &LossRecord::last>},
    {"accuracy.train", fraction, "right answers on the training set",
     get<&Run::accuracy, &AccuracyRecord::train>},
    {"accuracy.test", fraction, "right answers on the test set",
     get<&Run::accuracy, &AccuracyRecord::test>},
    {"time_to_target_seconds", seconds, "training time until the target was reached",
     get<&Run::time_to_target_seconds>},

    {"verification.status", none, "passed, failed or not_run",
     get<&Run::verification, &Verification::status>},
    {"verification.reason", none, "why it was not run or failed",
     get<&Run::verification, &Verification::reason>},
    {"verification.steps", count, "steps compared", get<&Run::verification, &Verification::steps>},
    {"verification.lr", none, "learning rate of both sides",
     get<&Run::verification, &Verification::lr>},
    {"verification.max_relative_error", none, "largest error",
     get<&Run::verification, &Verification::max_relative_error>},
    {"verification.tolerance", none, "largest error allowed",
     get<&Run::verification, &Verification::tolerance>},
    {"verification.worst_tensor", none, "which tensor erred most",
     get<&Run::verification, &Verification::worst_tensor>},

    {"scaling.mode", none, "weak or strong", get<&Run::scaling, &Scaling::mode>},
    {"scaling.baseline", none, "id of the run compared with",
     get<&Run::scaling, &Scaling::baseline>},
    {"scaling.speedup", none, "throughput over the baseline's",
     get<&Run::scaling, &Scaling::speedup>},
    {"scaling.efficiency", fraction, "speedup over world size",
     get<&Run::scaling, &Scaling::efficiency>},
    {"scaling.efficiency_ci95_low", fraction, "95 % interval of the efficiency, low end",
     get<&Run::scaling, &Scaling::efficiency_ci95, &Interval::low>},
    {"scaling.efficiency_ci95_high", fraction, "95 % interval of the efficiency, high end",
     get<&Run::scaling, &Scaling::efficiency_ci95, &Interval::high>},
    {"scaling.efficiency_vs_one_rank", fraction, "against the strategy's own single rank",
     get<&Run::scaling, &Scaling::efficiency_vs_one_rank>},
    {"scaling.loss.compute_slowdown", fraction, "lost to slower computation",
     get<&Run::scaling, &Scaling::loss, &Loss::compute_slowdown>},
    {"scaling.loss.communication", fraction, "lost to exposed communication",
     get<&Run::scaling, &Scaling::loss, &Loss::communication>},
    {"scaling.loss.wait", fraction, "lost to waiting for other ranks",
     get<&Run::scaling, &Scaling::loss, &Loss::wait>},
    {"scaling.loss.data", fraction, "lost to waiting for input",
     get<&Run::scaling, &Scaling::loss, &Loss::data>},
    {"scaling.loss.overhead", fraction, "lost to the rest",
     get<&Run::scaling, &Scaling::loss, &Loss::overhead>},
});

}  // namespace

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::none: return "";
    case Unit::count: return "count";
    case Unit::seconds: return "s";
    case Unit::bytes: return "B";
    case Unit::fraction: return "fraction";
    case Unit::joules: return "J";
    case Unit::operations: return "FLOP";
    case Unit::operations_per_second: return "FLOP/s";
    case Unit::samples_per_second: return "samples/s";
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
