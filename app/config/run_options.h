#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/option_table.h"
#include "src/base/size.h"
#include "src/measure/step_trace.h"
#include "src/ranks/host_choice.h"
#include "src/ranks/rank_card.h"
#include "strategies/loss_scaling.h"

namespace ptbench {

/// Ranks or replicas that share a core without a word; more are asked for with --oversubscribe.
inline constexpr Size kMostRanksPerCore = 4;

/// Whether a run is compared with serial training: `automatic` where that could differ.
enum class VerifyMode : std::uint8_t { automatic, on, off, only };

/// What an option says that takes on, off or auto.
enum class OnOffAuto : std::uint8_t { automatic, on, off };

/// Which part of a run this process does. A run of several repetitions starts a process for each,
/// with hidden options of `run`.
enum class RunPass : std::uint8_t {
  all,      ///< choose operators, verify, measure one repetition, phases
  prepare,  ///< choose operators, verify
  first,    ///< measure one repetition, phases
  next,     ///< measure one repetition
};

/// A rank that is to compute slower than it could.
struct SlowRank {
  Size rank = 0;
  double factor = 1;  ///< how many times as long it takes, at least 1
  friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

/// Which rank of several this process is, where its user says so.
struct GivenPlace {
  std::optional<Size> rank;
  std::optional<Size> world_size;
  std::optional<Size> local_rank;

  friend bool operator==(const GivenPlace&, const GivenPlace&) = default;
};

/// What a process is told by the ptbench that started it, in hidden options.
struct ProcessOrders {
  RunPass pass = RunPass::all;
  std::optional<int> region;           ///< descriptor of the memory that the ranks share
  std::optional<Size> launched_ranks;  ///< that the launcher of a sweep starts, this one among them
  std::optional<int> launched_by;      ///< process id of that sweep
  std::optional<std::string> keep_plan;  ///< where a `prepare` writes its choices, beside the cache
  std::optional<std::string> progress_prefix;  ///< shown before this process's own progress
  std::optional<std::string> turns;            ///< socket at which turns are granted
  std::optional<std::string> steps_socket;     ///< at which a program reports its steps

  friend bool operator==(const ProcessOrders&, const ProcessOrders&) = default;
};

/// What the user asked for on `ptbench run`, option by option; empty where the option was not given
/// and its default depends on the workload, the data or the machine. Every field has its row in
/// run_option_table(), which alone knows names, defaults, ranges and help.
struct RunOptions {
  std::string engine = "native";
  /// Whether ptbench's PyTorch scripts train, eager or compiled.
  [[nodiscard]] bool is_pytorch() const {
    return engine == "pytorch" || engine == "pytorch-compiled";
  }
  std::optional<std::string> program;  ///< command of the shell, with its placeholders
  std::optional<std::string> name;     ///< of the program, in records
  std::string workload = "mlp";
  std::string strategy = "serial";
  Size nproc = 1;
  HostChoice hosts;            ///< as_on_hosts() makes their ranks `nproc`
  bool oversubscribe = false;  ///< more than kMostRanksPerCore ranks a core are meant
  std::string device = "auto";
  std::optional<Size> threads;
  std::optional<Size> batch_size;
  std::optional<Size> global_batch;
  std::optional<Size> accumulate;
  std::optional<std::string> precision;
  std::optional<LossScaleSpec> loss_scale;
  OnOffAuto graph = OnOffAuto::automatic;

  std::optional<double> bucket_mb;        ///< MiB; empty: auto
  std::optional<double> first_bucket_mb;  ///< MiB; empty: auto
  OnOffAuto overlap = OnOffAuto::automatic;
  std::string reduce_precision = "fp32";
  bool broadcast_buffers = true;  ///< rank 0's running statistics go to all before each step
  std::string communicator = "auto";
  std::string asked_communicator;  ///< that `communicator` was chosen for; empty: it is itself
  std::string interface;           ///< of the network, for engines; empty: loopback
  double timeout_seconds = 60;     ///< of each wait for another rank
  std::vector<Size> shares;        ///< samples in each rank's micro-batch; empty: alike
  std::optional<SlowRank> slow_rank;

  std::optional<std::string> optimizer;
  std::optional<double> lr;
  std::optional<double> momentum;
  std::optional<double> weight_decay;

  std::string data = "synthetic";
  std::optional<Size> samples;
  bool shuffle = true;
  Size data_workers = 0;
  bool pin_memory = false;  ///< asked for; a device with memory of its own always gets it

  std::optional<Size> steps;
  std::optional<Size> epochs;
  std::optional<Size> warmup;          ///< empty: auto
  std::optional<Size> repeats;         ///< fresh processes; empty: 5, or more until precise
  bool quick = false;                  ///< a first look: sets repeats and times
  std::optional<double> target_noise;  ///< half width of the interval, a fraction; empty: 0.01
  double min_time_seconds = 2;         ///< measured, over all repetitions
  double max_time_seconds = 30;        ///< over all repetitions
  std::optional<double> target_accuracy;
  std::optional<double> target_loss;
  VerifyMode verify = VerifyMode::automatic;

  std::optional<std::string> plan_file;
  std::uint64_t seed = 0;
  std::vector<std::string> outputs;
  std::optional<std::string> loss_log;
  std::optional<std::string> initial_weights;
  std::optional<std::string> save_initial_weights;
  std::optional<std::string> save_final_weights;
  std::optional<std::string> trace;         ///< folder of the ranks' traces
  std::optional<TraceWindow> trace_window;  ///< empty: the default one
  bool json = false;                        ///< the same as `--output -`

  double slowdown = 0;                 ///< share by which each step is made longer
  std::optional<Size> slowdown_turns;  ///< so many steps are not, and as many are, in turn

  GivenPlace place;
  ProcessOrders orders;

  std::optional<CoreShare> core_share;       ///< empty: ranks may all use the same cores
  std::vector<Size> local_ranks;             ///< by rank; empty: they are the ranks
  std::vector<std::string> rank_hosts;       ///< names by rank; empty: all ranks are on one host
  std::vector<std::string> command_line;     ///< argv, for the record
  std::vector<NamedAssignment> assignments;  ///< all that was given, for processes to start

  /// `timeout_seconds`, as waits take it.
  [[nodiscard]] std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * timeout_seconds));
  }

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

/// Every option of `ptbench run`: names, defaults, ranges, help and how each gets into RunOptions.
/// To add one: a field in RunOptions, and a row beside those of its subject (run_option_rows.h).
[[nodiscard]] OptionTable<RunOptions> run_option_table();

/// The scope of the option of `run` with that long name, which exists.
[[nodiscard]] OptionScope scope_of(std::string_view option);

}  // namespace ptbench
