#include "src/config/run_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/optimizer.h"
#include "reports/catalog.h"
#include "src/base/number.h"
#include "strategies/catalog.h"
#include "workloads/catalog.h"

namespace ptbench {
namespace {

using Row = OptionRow<RunOptions>;
using Rows = std::vector<Row>;

// Counts end where no machine follows, so that products of a few of them cannot overflow.
constexpr std::uint64_t kMostSamples = 1'000'000'000'000;
constexpr std::uint64_t kMostSteps = 1'000'000'000'000;
constexpr const char* kTraining = "What to train, and how";
constexpr const char* kCommunication = "Several ranks";
constexpr std::uint64_t kMostAccumulation = 1'000'000;
constexpr std::uint64_t kMostRepeats = 1000;
constexpr double kLeastNoise = 1e-5;
constexpr std::uint64_t kMostRanks = 4096;
constexpr std::uint64_t kMostProcessId = 1 << 22;  // Linux's own
constexpr std::uint64_t kMostShare = 1'000'000'000;
constexpr double kMostSlower = 1000;

template <class Catalog>
std::vector<std::string> names_in(const Catalog& catalog) {
  std::vector<std::string> names;
  names.reserve(catalog.size());
  for (const auto& row : catalog) names.push_back(row.name);
  return names;
}

std::vector<std::string> optimizer_names() {
  return {name_of(OptimizerKind::sgd), name_of(OptimizerKind::adam), name_of(OptimizerKind::adamw)};
}

/// "cpu", "cuda", "auto", or "cuda:" and indices separated by '+'.
bool is_device(std::string_view text) {
  if (text == "cpu" || text == "cuda" || text == "auto") return true;
  if (!text.starts_with("cuda:")) return false;
  for (text.remove_prefix(5);;) {
    const std::size_t end = text.find('+');
    if (!parse_whole(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

void set_device(RunOptions& options, const OptionInfo& option, std::string_view text) {
  if (!is_device(text)) refuse_value(option, text);
  options.device = text;
}

/// Takes every precision that has a name: what the device lacks is another error than a typing
/// error.
void set_precision(RunOptions& options, const OptionInfo& option, std::string_view text) {
  if (text != "fp32" && text != "tf32" && text != "bf16" && text != "fp16")
    refuse_value(option, text);
  options.precision = text;
}

/// Takes those too that this build lacks, which is another error.
void set_communicator(RunOptions& options, const OptionInfo& option, std::string_view text) {
  constexpr std::array<std::string_view, 5> kNames{"auto", "shm", "mpi", "gloo", "nccl"};
  if (std::ranges::find(kNames, text) == kNames.end()) refuse_value(option, text);
  options.communicator = text;
}

/// "none", "dynamic", or a number.
void set_loss_scale(RunOptions& options, const OptionInfo& option, std::string_view text) {
  constexpr double kMost = 1e12;
  if (text == "none")
    options.loss_scale = LossScaleSpec{};
  else if (text == "dynamic")
    options.loss_scale = LossScaleSpec{.kind = LossScaling::dynamic, .value = 1};
  else
    options.loss_scale =
        LossScaleSpec{.kind = LossScaling::fixed,
                      .value = static_cast<float>(real_value(option, text, 1.0 / kMost, kMost))};
}

void set_verify(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::string mode = choice_value(option, text);
  options.verify = mode == "on"    ? VerifyMode::on
                   : mode == "off" ? VerifyMode::off
                                   : VerifyMode::only;
}

/// A name of the catalog, or a model file, which is read later.
void set_workload(RunOptions& options, const OptionInfo& option, std::string_view text) {
  options.workload =
      text.ends_with(".json") ? text_value(option, text) : choice_value(option, text);
}

void set_warmup(RunOptions& options, const OptionInfo& option, std::string_view text) {
  if (text == "auto")
    options.warmup.reset();
  else
    options.warmup = static_cast<Size>(whole_value(option, text, 0, kMostSteps));
}

/// A share, as "0.01" or "1%".
void set_target_noise(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::optional<double> number = parse_real(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number.value_or(0) / (percent ? 100 : 1);
  if (share < kLeastNoise || share > 1) refuse_value(option, text);
  options.target_noise = share;
}

void set_pass(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::string pass = choice_value(option, text);
  options.pass = pass == "prepare" ? RunPass::prepare
                 : pass == "first" ? RunPass::first
                                   : RunPass::next;
}

/// The extension says the format: an unknown one is refused before anything is measured.
void add_output(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::string file = text_value(option, text);
  (void)find_reporter(file);
  options.outputs.push_back(file);
}

void append_training(Rows& rows) {
  const std::string group = kTraining;
  rows.push_back(Row{{.name = "workload",
                      .short_name = 'w',
                      .value = "NAME|FILE.json",
                      .group = group,
                      .help = "the model with its loss and input shape, or a model file",
                      .fallback = "mlp",
                      .choices = names_in(workload_catalog()),
                      .grid = true},
                     set_workload});
  rows.push_back(choice_option({.name = "strategy",
                                .short_name = 's',
                                .value = "NAME",
                                .group = group,
                                .help = "how one optimizer step is spread over devices",
                                .fallback = "serial",
                                .choices = names_in(strategy_catalog()),
                                .grid = true},
                               &RunOptions::strategy));
  rows.push_back(whole_option({.name = "batch-size",
                               .short_name = 'b',
                               .value = "B",
                               .group = group,
                               .help = "samples in one replica's micro-batch",
                               .fallback = "the workload's",
                               .example = "128",
                               .grid = true},
                              &RunOptions::batch_size, 1, kMostSamples));
  rows.push_back(whole_option({.name = "global-batch",
                               .value = "G",
                               .group = group,
                               .help = "samples in one optimizer step; excludes --batch-size",
                               .example = "128",
                               .excludes = {"batch-size"},
                               .grid = true},
                              &RunOptions::global_batch, 1, kMostSamples));
}

void append_arithmetic(Rows& rows) {
  const std::string group = kTraining;
  rows.push_back(whole_option({.name = "accumulate",
                               .value = "K",
                               .group = group,
                               .help = "micro-batches in one optimizer step",
                               .fallback = "1 (grad-accum: 4)",
                               .example = "4",
                               .grid = true},
                              &RunOptions::accumulate, 1, kMostAccumulation));
  rows.push_back(Row{{.name = "precision",
                      .value = "TYPE",
                      .group = group,
                      .help = "compute type; master weights stay fp32",
                      .fallback = "fp32 (amp: the device's best)",
                      .domain = "fp32, tf32, bf16 or fp16",
                      .choices = {"fp32", "bf16"},
                      .grid = true},
                     set_precision});
  rows.push_back(Row{{.name = "loss-scale",
                      .value = "none|dynamic|X",
                      .group = group,
                      .help = "keeps small gradients from underflowing; dynamic skips steps that "
                              "overflow",
                      .fallback = "none",
                      .domain = "none, dynamic or a number from 1e-12 to 1e12",
                      .choices = {"none", "dynamic"},
                      .grid = true},
                     set_loss_scale});
  rows.push_back(whole_option({.name = "seed",
                               .value = "N",
                               .group = group,
                               .help = "decides initial weights, synthetic data and sample order",
                               .fallback = "0"},
                              &RunOptions::seed, 0, std::numeric_limits<std::uint64_t>::max()));
}

void append_machine(Rows& rows) {
  const std::string group = "Where to run";
  rows.push_back(whole_option({.name = "nproc",
                               .short_name = 'n',
                               .value = "N",
                               .group = group,
                               .help = "ranks or replicas on this host",
                               .fallback = "1",
                               .grid = true},
                              &RunOptions::nproc, 1, kMostRanks));
  rows.push_back(
      flag_option({.name = "oversubscribe",
                   .group = group,
                   .help = fmt::format("allow more than {} ranks a core", kMostRanksPerCore)},
                  &RunOptions::oversubscribe));
  rows.push_back(Row{{.name = "device",
                      .value = "DEVICE",
                      .group = group,
                      .help = "cpu, cuda (all GPUs), cuda:0+1 (these), or auto",
                      .fallback = "auto",
                      .domain = "cpu, cuda, cuda:I+J+... or auto",
                      .choices = {"auto", "cpu", "cuda"}},
                     set_device});
  rows.push_back(whole_option({.name = "threads",
                               .value = "N",
                               .group = group,
                               .help = "threads of one CPU replica",
                               .fallback = "cores / nproc",
                               .example = "2",
                               .grid = true},
                              &RunOptions::threads, 1, 1024));
}

/// "auto", or MiB.
Row bucket_row(const char* name, const char* help, const char* usual,
               std::optional<double> RunOptions::* field) {
  constexpr double kLeast = 1.0 / 1024;
  constexpr double kMost = 1024 * 1024;
  return Row{{.name = name,
              .value = "X|auto",
              .group = kCommunication,
              .help = help,
              .fallback = usual,
              .domain = "auto or " + real_domain(kLeast, kMost),
              .choices = {"auto"},
              .grid = true},
             [=](RunOptions& options, const OptionInfo& option, std::string_view text) {
               if (text == "auto")
                 (options.*field).reset();
               else
                 options.*field = real_value(option, text, kLeast, kMost);
             }};
}

void set_overlap(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::string mode = choice_value(option, text);
  options.overlap = mode == "on"    ? OverlapMode::on
                    : mode == "off" ? OverlapMode::off
                                    : OverlapMode::automatic;
}

/// "96+32" or, as a sweep's lists are separated by commas, "96,32" in a run alone.
void set_shares(RunOptions& options, const OptionInfo& option, std::string_view text) {
  std::vector<Size> shares;
  for (std::string_view rest = text;;) {
    const std::size_t end = rest.find_first_of("+,");
    const auto share = parse_whole(rest.substr(0, end));
    if (!share || *share < 1 || *share > kMostShare) refuse_value(option, text);
    shares.push_back(static_cast<Size>(*share));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  options.shares = std::move(shares);
}

/// "1:1.3": a rank, and how many times slower it is.
void set_slow_rank(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto rank = parse_whole(text.substr(0, colon));
  const auto factor = parse_real(text.substr(std::min(colon + 1, text.size())));
  if (!rank || *rank >= kMostRanks || !factor || *factor < 1 || *factor > kMostSlower)
    refuse_value(option, text);
  options.slow_rank = SlowRank{.rank = static_cast<Size>(*rank), .factor = *factor};
}

void append_imbalance(Rows& rows) {
  const std::string group = "Imbalance on purpose";
  rows.push_back(Row{{.name = "shares",
                      .value = "A+B",
                      .group = group,
                      .help = "samples in each rank's micro-batch, where they are to be unequal",
                      .example = "96+32",
                      .domain = "a whole number from 1 to 10^9 for each rank, joined by '+'",
                      .excludes = {"batch-size", "global-batch"},
                      .grid = true},
                     set_shares});
  rows.push_back(Row{{.name = "slow-rank",
                      .value = "R:F",
                      .group = group,
                      .help = "make rank R compute F times slower",
                      .example = "1:1.3",
                      .domain = "a rank and a factor from 1 to 1000, as 1:1.3",
                      .grid = true},
                     set_slow_rank});
}

void append_communication(Rows& rows) {
  const std::string group = kCommunication;
  rows.push_back(bucket_row("bucket-mb",
                            "MiB of gradients that are reduced together; more where that makes "
                            "over 128 buckets",
                            "auto: as measured", &RunOptions::bucket_mb));
  rows.push_back(bucket_row("first-bucket-mb", "MiB of those that are final first",
                            "auto: a quarter", &RunOptions::first_bucket_mb));
  rows.push_back(Row{{.name = "overlap",
                      .value = "on|off|auto",
                      .group = group,
                      .help = "begin to reduce gradients during backward",
                      .fallback = "auto",
                      .choices = {"on", "off", "auto"},
                      .grid = true},
                     set_overlap});
  rows.push_back(choice_option({.name = "reduce-precision",
                                .value = "TYPE",
                                .group = group,
                                .help = "gradients on the wire; sums are fp32",
                                .fallback = "fp32",
                                .choices = {"fp32", "bf16"},
                                .grid = true},
                               &RunOptions::reduce_precision));
  rows.push_back(
      switch_option({.name = "broadcast-buffers",
                     .value = "on|off",
                     .group = group,
                     .help = "rank 0's batch-norm statistics go to all ranks before each "
                             "step, as PyTorch's DDP does",
                     .fallback = "on",
                     .grid = true},
                    &RunOptions::broadcast_buffers));
  rows.push_back(Row{{.name = "communicator",
                      .value = "NAME",
                      .group = group,
                      .help = "who moves gradients between ranks; this build has shm",
                      .fallback = "auto",
                      .domain = "auto, shm, mpi, gloo or nccl",
                      .choices = {"auto", "shm"}},
                     set_communicator});
  rows.push_back(real_option({.name = "timeout",
                              .value = "S",
                              .group = group,
                              .help = "longest wait for another rank, and for a process that is "
                                      "stopped",
                              .fallback = "60"},
                             &RunOptions::timeout_seconds, 0.1, 86400));
}

/// Of ranks that somebody else starts.
void append_place(Rows& rows) {
  const std::string group = kCommunication;
  rows.push_back(whole_option({.name = "rank",
                               .value = "R",
                               .group = group,
                               .help = "be this rank of --world-size, which meet at PTBENCH_ADDR",
                               .fallback = "torchrun's, mpirun's or srun's, where they started it",
                               .example = "1"},
                              &RunOptions::rank, 0, 4095));
  rows.push_back(whole_option({.name = "world-size",
                               .value = "N",
                               .group = group,
                               .help = "ranks that were started one by one; with --rank",
                               .example = "2"},
                              &RunOptions::world_size, 1, 4096));
  rows.push_back(whole_option({.name = "local-rank",
                               .value = "L",
                               .group = group,
                               .help = "which of this host's ranks this is; with --rank",
                               .fallback = "the rank",
                               .example = "1"},
                              &RunOptions::local_rank, 0, 4095));
}

void append_optimizer(Rows& rows) {
  const std::string group = "Optimizer (naming another one resets the rest to PyTorch's defaults)";
  rows.push_back(choice_option({.name = "optimizer",
                                .value = "NAME",
                                .group = group,
                                .help = "the update rule, as PyTorch defines it",
                                .fallback = "the workload's",
                                .choices = optimizer_names(),
                                .grid = true},
                               &RunOptions::optimizer));
  rows.push_back(real_option({.name = "lr",
                              .value = "X",
                              .group = group,
                              .help = "learning rate",
                              .fallback = "the workload's",
                              .example = "0.01",
                              .grid = true},
                             &RunOptions::lr, 0, 1e6));
  rows.push_back(real_option({.name = "momentum",
                              .value = "X",
                              .group = group,
                              .help = "momentum of sgd",
                              .fallback = "the workload's",
                              .example = "0.9",
                              .grid = true},
                             &RunOptions::momentum, 0, 1));
  rows.push_back(real_option({.name = "weight-decay",
                              .value = "X",
                              .group = group,
                              .help = "L2 penalty of sgd and adam, decoupled decay of adamw",
                              .fallback = "the workload's",
                              .example = "5e-4",
                              .grid = true},
                             &RunOptions::weight_decay, 0, 1e6));
}

void append_data(Rows& rows) {
  const std::string group = "Data";
  rows.push_back(
      text_option({.name = "data",
                   .value = "synthetic|DIR",
                   .group = group,
                   .help = "made-up samples, or a directory of IDX (MNIST), CIFAR-10 binary or NPY "
                           "files",
                   .fallback = "synthetic",
                   .hint = ValueHint::directory,
                   .grid = true},
                  &RunOptions::data));
  rows.push_back(whole_option({.name = "samples",
                               .value = "N",
                               .group = group,
                               .help = "samples in an epoch of synthetic data",
                               .fallback = "the workload's",
                               .example = "1000",
                               .grid = true},
                              &RunOptions::samples, 1, kMostSamples));
  rows.push_back(switch_option({.name = "shuffle",
                                .group = group,
                                .help = "sample order: a function of seed and epoch, or by index",
                                .fallback = "on",
                                .grid = true},
                               &RunOptions::shuffle));
  rows.push_back(whole_option({.name = "data-workers",
                               .value = "N",
                               .group = group,
                               .help = "threads that prepare batches ahead",
                               .fallback = "0",
                               .grid = true},
                              &RunOptions::data_workers, 0, 64));
}

void append_length(Rows& rows) {
  const std::string group = "How long";
  rows.push_back(whole_option({.name = "steps",
                               .value = "N",
                               .group = group,
                               .help = "measure exactly N optimizer steps",
                               .example = "200",
                               .excludes = {"epochs"}},
                              &RunOptions::steps, 1, kMostSteps));
  rows.push_back(whole_option({.name = "epochs",
                               .value = "E",
                               .group = group,
                               .help = "train E times over the data, warm-up included",
                               .example = "10"},
                              &RunOptions::epochs, 1, 1'000'000'000));
  rows.push_back(Row{{.name = "warmup",
                      .value = "auto|N",
                      .group = group,
                      .help = "steps that train but are not measured",
                      .fallback = "auto",
                      .domain = "auto or " + whole_domain(0, kMostSteps),
                      .choices = {"auto"}},
                     set_warmup});
}

void append_stop_rule(Rows& rows) {
  const std::string group = "How precise, within how much time (without --steps and --epochs)";
  rows.push_back(whole_option({.name = "repeats",
                               .value = "K",
                               .group = group,
                               .help = "measure in exactly K fresh processes; with --target-noise, "
                                       "in at least K",
                               .fallback = "5, more until --target-noise",
                               .example = "5"},
                              &RunOptions::repeats, 1, kMostRepeats));
  rows.push_back(Row{{.name = "target-noise",
                      .value = "P",
                      .group = group,
                      .help = "add processes until half the width of the 95 % interval of the step "
                              "time is at most P of it",
                      .fallback = "1 %",
                      .example = "1%",
                      .domain = "a share from 0.00001 to 1, or from 0.001% to 100%"},
                     set_target_noise});
  rows.push_back(real_option({.name = "min-time",
                              .value = "S",
                              .group = group,
                              .help = "seconds to measure at least, over all processes",
                              .fallback = "2"},
                             &RunOptions::min_time_seconds, 0, 1e6));
  rows.push_back(real_option({.name = "max-time",
                              .value = "S",
                              .group = group,
                              .help = "seconds after which measuring ends, over all processes and "
                                      "whatever the other options say",
                              .fallback = "30"},
                             &RunOptions::max_time_seconds, 0.001, 1e6));
}

void append_checks(Rows& rows) {
  const std::string group = "Is it right, and good enough";
  rows.push_back(Row{{.name = "verify",
                      .value = "on|off|only",
                      .group = group,
                      .help = "before timing, compare some steps of several ranks with one replica "
                              "of the same precision, or of one rank with serial fp32 training",
                      .fallback = "on with several ranks, accumulation or another precision",
                      .choices = {"on", "off", "only"}},
                     set_verify});
  rows.push_back(real_option({.name = "target-accuracy",
                              .value = "A",
                              .group = group,
                              .help = "stop after the epoch whose accuracy (test, or train where "
                                      "there is no test data) reaches A; with --epochs",
                              .example = "0.95",
                              .excludes = {"steps", "target-loss"}},
                             &RunOptions::target_accuracy, 0, 1));
  rows.push_back(real_option({.name = "target-loss",
                              .value = "L",
                              .group = group,
                              .help = "stop after the epoch whose mean training loss is at most L; "
                                      "with --epochs",
                              .example = "0.1",
                              .excludes = {"steps"}},
                             &RunOptions::target_loss, 0, 1e6));
}

void append_files(Rows& rows) {
  const std::string group = "Files";
  rows.push_back(Row{{.name = "output",
                      .short_name = 'o',
                      .value = "FILE",
                      .group = group,
                      .help = "write the result: .json or .csv by extension, - is JSON on standard "
                              "output; may be given several times",
                      .example = "results.json",
                      .hint = ValueHint::file,
                      .repeatable = true},
                     add_output});
  rows.push_back(flag_option({.name = "json", .group = group, .help = "the same as --output -"},
                             &RunOptions::json));
  struct FileRow {
    const char* name;
    const char* value;
    const char* help;
    std::optional<std::string> RunOptions::* field;
  };
  const std::array files{
      FileRow{"plan", "FILE", "use the operator choices in FILE; written if absent",
              &RunOptions::plan_file},
      FileRow{"loss-log", "FILE.csv", "step and loss of every training step from the first",
              &RunOptions::loss_log},
      FileRow{"initial-weights", "FILE", "start from these safetensors, not from the seed",
              &RunOptions::initial_weights},
      FileRow{"save-initial-weights", "FILE", "write the weights before the first step",
              &RunOptions::save_initial_weights},
      FileRow{"save-final-weights", "FILE", "write the weights after the last step",
              &RunOptions::save_final_weights}};
  for (const FileRow& file : files)
    rows.push_back(text_option({.name = file.name,
                                .value = file.value,
                                .group = group,
                                .help = file.help,
                                .hint = ValueHint::file},
                               file.field));
}

/// What a run tells the processes that it starts.
void append_hidden(Rows& rows) {
  const std::string group = "Hidden";
  rows.push_back(Row{{.name = "pass",
                      .value = "PASS",
                      .group = group,
                      .help = "do this part of a run in this process",
                      .choices = {"prepare", "first", "next"},
                      .hidden = true},
                     set_pass});
  rows.push_back(whole_option({.name = "region",
                               .value = "FD",
                               .group = group,
                               .help = "inherited descriptor of the ranks' memory",
                               .example = "3",
                               .hidden = true},
                              &RunOptions::region, 0, 1'000'000));
  rows.push_back(whole_option({.name = "launched-ranks",
                               .value = "N",
                               .group = group,
                               .help = "be one of N ranks that a sweep's launcher starts",
                               .example = "2",
                               .hidden = true},
                              &RunOptions::launched_ranks, 2, kMostRanks));
  rows.push_back(whole_option({.name = "launched-by",
                               .value = "PID",
                               .group = group,
                               .help = "end when that process has ended",
                               .example = "1234",
                               .hidden = true},
                              &RunOptions::launched_by, 1, kMostProcessId));
  rows.push_back(text_option({.name = "keep-plan",
                              .value = "FILE",
                              .group = group,
                              .help = "write the choices of operators there too",
                              .hint = ValueHint::file,
                              .hidden = true},
                             &RunOptions::keep_plan));
  rows.push_back(text_option({.name = "progress-prefix",
                              .value = "TEXT",
                              .group = group,
                              .help = "show progress after this text, wherever it goes",
                              .hidden = true},
                             &RunOptions::progress_prefix));
  rows.push_back(text_option({.name = "turns",
                              .value = "NAME",
                              .group = group,
                              .help = "take steps in turns that are granted at this local socket",
                              .hidden = true},
                             &RunOptions::turns));
}

/// What tests of gates need.
void append_slowdown(Rows& rows) {
  const std::string group = "Hidden";
  rows.push_back(real_option({.name = "slowdown",
                              .value = "X",
                              .group = group,
                              .help = "make every step this share longer, and say so in the record",
                              .fallback = "0",
                              .hidden = true},
                             &RunOptions::slowdown, 0, 100));
  rows.push_back(whole_option({.name = "slowdown-turns",
                               .value = "N",
                               .group = group,
                               .help = "with --slowdown, leave N steps as they are and make N "
                                       "longer, in turn",
                               .example = "16",
                               .hidden = true},
                              &RunOptions::slowdown_turns, 1, kMostSteps));
}

}  // namespace

OptionTable<RunOptions> run_option_table() {
  Rows rows;
  append_training(rows);
  append_arithmetic(rows);
  append_machine(rows);
  append_communication(rows);
  append_place(rows);
  append_imbalance(rows);
  append_optimizer(rows);
  append_data(rows);
  append_length(rows);
  append_stop_rule(rows);
  append_checks(rows);
  append_files(rows);
  append_hidden(rows);
  append_slowdown(rows);
  return OptionTable<RunOptions>(std::move(rows));
}

}  // namespace ptbench
