#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/measure/environment.h"

namespace ptbench {

// What a result file holds, schema ptbench.result/2. Empty means "not known" or "not applicable"
// and becomes null, never 0. Durations are in seconds, sizes in bytes, ratios are fractions. Scalar
// fields are listed with unit and meaning in field_table.cpp: a new one needs its row there.

enum class Status { ok, failed, skipped, interrupted };
[[nodiscard]] std::string_view name_of(Status status);
/// Whether what was measured until then counts.
[[nodiscard]] constexpr bool ended_well(Status status) {
  return status == Status::ok || status == Status::interrupted;
}

/// Why measuring ended.
enum class StopReason { noise, max_time, steps, epochs, target };
[[nodiscard]] std::string_view name_of(StopReason reason);

/// `weak`: everything compared was equal, but too little was compared to say "passed".
enum class VerificationStatus { passed, weak, failed, not_run };
[[nodiscard]] std::string_view name_of(VerificationStatus status);

enum class ScalingMode { weak, strong };
[[nodiscard]] std::string_view name_of(ScalingMode mode);

/// Which repetitions of two runs a ratio of their throughputs rests on.
enum class RatioBasis {
  clean_rounds,  ///< in which both took turns with each other, and were clean
  all_rounds,    ///< in which they took turns, clean or not: too few are clean
  apart,         ///< those that speak for the throughput of each: the ratio is that of throughputs
};
[[nodiscard]] std::string_view name_of(RatioBasis basis);

/// A confidence interval.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Who trained.
struct EngineRecord {
  std::optional<std::string> name;  ///< "native", "pytorch", "program"
  std::optional<std::string> version;
  std::optional<std::string> command;  ///< that was started, where ptbench itself did not train
};

struct WorkloadRecord {
  std::string name;
  std::optional<std::string> file;    ///< the model file that describes it, as the user named it
  std::optional<std::string> digest;  ///< equal for equal graphs and losses, whatever their names
  std::optional<Size> parameters;     ///< scalars that training changes
  std::optional<double> flops_per_sample;
  std::optional<Size> tokens_per_step;  ///< of all ranks, where a program tells them
  std::vector<Size> input_shape;        ///< of one sample; empty: not known
};

struct StrategyRecord {
  std::string name;
  Size world_size = 1;
  std::optional<Size> hosts = std::nullopt;  ///< that the ranks are on
  std::vector<std::string> devices;          ///< one a replica: "cpu", "cuda:0"
  std::optional<Size> threads;               ///< of one CPU replica
  std::optional<Size> accumulation_steps;
  std::string precision = "fp32";
  std::optional<Size> batch_per_replica;  ///< samples in one micro-batch
  std::optional<Size> global_batch;       ///< samples in one optimizer step
  std::optional<Bytes> bucket_bytes;
  std::optional<bool> overlap;
  std::optional<bool> graph = std::nullopt;  ///< steps were given to the device as one graph
  std::optional<std::string> communicator;
  std::optional<bool> sends_values = std::nullopt;  ///< of the communicator, over a link or network
  /// Command that started the ranks; empty: ptbench did.
  std::optional<std::string> launcher = std::nullopt;
  std::optional<std::string> plan_hash;
};

struct OptimizerRecord {
  std::optional<std::string> name;
  std::optional<double> lr;
  std::optional<double> momentum;
  std::optional<double> weight_decay;
  std::optional<double> beta1;
  std::optional<double> beta2;
  std::optional<double> epsilon;
};

struct DataRecord {
  std::optional<std::string> source;       ///< "synthetic", or the directory as the user named it
  std::optional<Size> samples;             ///< in an epoch
  std::optional<Size> samples_left_out;    ///< of an epoch: they fill no global batch
  std::vector<double> mean;                ///< per channel; empty: not normalised
  std::vector<double> standard_deviation;  ///< per channel; empty: not normalised
  std::optional<Size> workers;
};

struct SliceRecord {
  Size repetition = 0;
  Size first = 0;  ///< index into step_seconds
  Size count = 0;
  std::optional<bool> clean = std::nullopt;    ///< nothing disturbed it; empty: not known
  std::optional<double> median_seconds;        ///< of a step
  std::optional<double> core_latency_seconds;  ///< the worse of both ends
  std::optional<std::string> placement;        ///< "near", "far", "mixed"; empty on one core
  std::optional<double> foreign_cpu_fraction;
  std::optional<double> steal_fraction;
  std::optional<double> frequency_hertz;                      ///< the lower of both ends
  std::optional<double> mean_frequency_hertz = std::nullopt;  ///< over the slice
  std::optional<double> joules = std::nullopt;                ///< that the CPU packages used
  /// Its place, from 0, among all turns of the processes that were measured in lockstep with it,
  /// whichever side they are of; empty where none was.
  std::optional<Size> turn = std::nullopt;
  // Of devices that are no CPUs, all together; empty where they do not tell:
  std::optional<double> device_temperature_celsius = std::nullopt;  ///< the higher of both ends
  /// Names of ThrottleReason, at either end.
  std::optional<std::vector<std::string>> device_throttle_reasons = std::nullopt;
  std::optional<Size> device_other_processes = std::nullopt;  ///< that held them
  /// The largest share of one that another process used for a while.
  std::optional<double> device_foreign_fraction = std::nullopt;
  std::optional<double> device_joules = std::nullopt;
};

/// What one fresh process measured.
struct RepetitionRecord {
  std::optional<double> median_seconds;  ///< of a step: the median of its slices' medians
  std::optional<std::string> placement;  ///< of its clean slices; empty on one core
  std::optional<Size> clean_slices;      ///< of that placement; 0: the median is of unclean ones
  std::optional<double> started_unix_seconds = std::nullopt;  ///< wall clock, when its steps began
  /// Lower quartile of the steps of the same slices; empty where samples are of several steps, or
  /// too few.
  std::optional<double> lower_quartile_seconds = std::nullopt;
  std::optional<double> mean_seconds = std::nullopt;  ///< of the samples of the same slices
  /// Names the set of processes that took turns with each other: the same text on every side, and
  /// no other set's. Empty where the process was measured by itself.
  std::optional<std::string> lockstep = std::nullopt;
};

struct SamplesRecord {
  std::optional<Size> warmup_discarded;  ///< steps
  std::optional<Size> count;
  std::optional<StopReason> stop_reason;
  std::optional<Size> steps_per_sample;
  /// In lockstep: up to so many pairs were looked at on the way; empty: their number was fixed.
  std::optional<Size> max_pairs;
  std::optional<Size> first_look;  ///< pairs before the first of these looks; empty: 6
  std::optional<bool> quick;       ///< a first look (`--quick`): one process, for a few seconds
  std::optional<double> slowdown;  ///< each step was made longer by this share, on purpose
  /// By which the steps measured were, together; the mean over repetitions.
  std::optional<double> slowdown_realized;
  std::vector<double> step_seconds;  ///< one a sample: seconds of one step
  std::vector<SliceRecord> slices;
  std::vector<RepetitionRecord> repetitions;
};

/// What was measured while the cores were in one placement class.
struct PlacementRecord {
  std::optional<double> median_seconds;
  std::optional<Size> repetitions;
};

struct StepSecondsRecord {
  std::optional<double> median;
  std::optional<double> mean;
  std::optional<double> stddev;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> p10;
  std::optional<double> p90;
  std::optional<double> p95;
  std::optional<double> p99;
  std::optional<Interval> ci95;  ///< of the median, across repetitions
  std::optional<double> run_to_run_sd;
  std::map<std::string, PlacementRecord> by_placement;
};

/// Samples over seconds in clean slices; in a file of ptbench.result/1 over the median step.
struct ThroughputRecord {
  std::optional<double> value;   ///< samples/s, global
  std::optional<Interval> ci95;  ///< across repetitions
  std::optional<double> tokens_per_second = std::nullopt;
};

struct PhasesRecord {
  std::optional<double> data;
  std::optional<double> scatter;
  std::optional<double> replicate;
  std::optional<double> forward;
  std::optional<double> gather;
  std::optional<double> backward;
  std::optional<double> reduce;
  std::optional<double> communication;
  std::optional<double> communication_exposed;
  std::optional<double> optimizer;
  std::optional<double> other;
};

/// Between two hosts of a run, of which each sends to the other at once.
struct LinkRecord {
  std::optional<double> latency_seconds;             ///< of a message of a few bytes
  std::optional<double> bandwidth_bytes_per_second;  ///< each way
  std::optional<std::string> communicator;           ///< that carried the messages
};

struct RankRecord {
  Size rank = 0;
  std::string host;
  std::string device;
  std::optional<double> compute_seconds;   ///< of a step: forward and backward
  std::optional<double> wait_seconds;      ///< of a step: idle until slower ranks had computed too
  std::optional<Bytes> peak_memory_bytes;  ///< without memory that ranks share
};

struct MemoryRecord {
  std::optional<Bytes> before_bytes;  ///< resident before planning: program and data
  std::optional<Bytes> peak_bytes;
  std::optional<Bytes> predicted_bytes;
};

struct ComputeRecord {
  std::optional<double> flops_per_step;  ///< of the mathematics, however it is computed
  /// As the chosen operators compute it: Winograd's filtering multiplies less.
  std::optional<double> executed_flops_per_step;
  std::optional<double> flops_per_second;       ///< of the mathematics
  std::optional<double> peak_flops_per_second;  ///< dense, of the compute type
  std::optional<double> utilization;            ///< executed operations over the peak
  std::optional<double> effective_utilization;  ///< those of the mathematics over the peak
  std::optional<std::string> peak_source;
};

struct EnergyRecord {
  std::optional<double> joules_per_step;
  std::optional<std::string> source;
};

struct LossRecord {
  std::optional<double> first;
  std::optional<double> last;
};

struct AccuracyRecord {
  std::optional<double> train;
  std::optional<double> test;
};

struct VerificationRecord {
  VerificationStatus status = VerificationStatus::not_run;
  std::optional<std::string> reason;  ///< why it is not passed
  std::optional<Size> steps;
  std::optional<double> lr;  ///< that both sides trained with
  std::optional<double> max_relative_error;
  std::optional<double> tolerance;
  std::optional<std::string> worst_tensor;
};

/// Shares of the efficiency that was lost; they add up to 1 − efficiency.
struct ScalingLossRecord {
  std::optional<double> compute_slowdown;
  std::optional<double> batch_effect;  ///< of micro-batches that are smaller than the baseline's
  std::optional<double> communication;
  std::optional<double> wait;
  std::optional<double> data;
  std::optional<double> overhead;
};

/// What a run on several hosts would reach by the cost of its link: host_scaling.h.
struct PredictedRecord {
  std::optional<double> step_seconds;  ///< nothing overlaps
  std::optional<double> efficiency_across_hosts;
  std::optional<double> overlapped_step_seconds;  ///< as much overlaps as can; empty: nothing is to
  std::optional<double> overlapped_efficiency_across_hosts;
};

struct ScalingRecord {
  ScalingMode mode = ScalingMode::weak;
  std::optional<std::string> baseline;             ///< id of a run
  std::optional<RatioBasis> basis = std::nullopt;  ///< of speedup, efficiency and loss
  std::optional<Size> rounds = std::nullopt;       ///< that it is of; empty: `apart`
  std::optional<double> speedup;
  std::optional<double> efficiency;
  std::optional<Interval> efficiency_ci95;
  std::optional<double> efficiency_vs_one_rank;
  std::optional<std::string> all_cores;  ///< id of serial training on all cores
  /// Against that, with the same global batch.
  std::optional<double> efficiency_vs_all_cores;
  std::optional<Interval> efficiency_vs_all_cores_ci95;
  ScalingLossRecord loss;
  // Of a run on several hosts, where the ranks of one of them were measured by themselves:
  std::optional<std::string> one_host = std::nullopt;            ///< id of that run
  std::optional<double> efficiency_within_hosts = std::nullopt;  ///< its own, against one rank
  std::optional<double> efficiency_across_hosts = std::nullopt;  ///< against so many such hosts
  std::optional<Interval> efficiency_across_hosts_ci95 = std::nullopt;
  PredictedRecord predicted;
};

/// Beside the run of the same options by the engine that a sweep names first.
struct VersusRecord {
  std::optional<std::string> run;         ///< its id
  std::optional<double> step_time_ratio;  ///< this run's mean step over that run's
  std::optional<Interval> step_time_ratio_ci95;
  /// Of how many repetitions that took turns with that run's; 0: of all that were made apart.
  std::optional<Size> pairs_in_turns;
};

struct WarningRecord {
  std::string code;  ///< for programs: "debug-build"
  std::string message;
  std::string remedy;
};

/// One configuration and what was measured of it.
struct RunRecord {
  std::string id;  ///< see run_id.h
  Status status = Status::ok;
  std::optional<std::string> reason;  ///< of any status but ok
  EngineRecord engine;
  WorkloadRecord workload;
  StrategyRecord strategy;
  OptimizerRecord optimizer;
  DataRecord data;
  SamplesRecord samples;
  StepSecondsRecord step_seconds;
  ThroughputRecord throughput;
  PhasesRecord phases_seconds;
  std::optional<LinkRecord> link;  ///< empty: ranks of one host
  std::vector<RankRecord> ranks;
  MemoryRecord memory;
  ComputeRecord compute;
  std::optional<EnergyRecord> energy;
  LossRecord loss;
  std::optional<AccuracyRecord> accuracy;
  std::optional<double> time_to_target_seconds;
  VerificationRecord verification;
  std::optional<ScalingRecord> scaling;
  std::optional<VersusRecord> versus;  ///< empty: of the first engine, or of the only one
  std::vector<WarningRecord> warnings;
};

/// Takes the warnings with that code off the run.
void remove_warning(RunRecord& run, std::string_view code);

/// Which program wrote the file.
struct GeneratorRecord {
  std::string name = "ptbench";
  std::string version;
  std::optional<std::string> git_commit;
  std::optional<std::string> build_type;
};

/// A whole result file.
struct ResultFile {
  int schema_version = 2;  ///< that it was read from; 1: throughput is over the median step
  GeneratorRecord generator;
  std::string created;               ///< RFC 3339, see rfc3339_utc()
  std::vector<std::string> command;  ///< argv
  EnvironmentRecord environment;
  std::vector<RunRecord> runs;
  /// In a history: ids of the runs whose change for the worse was accepted with this entry.
  std::vector<std::string> accepted;
};

}  // namespace ptbench
