#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/number.h"
#include "src/comm/catalog.h"
#include "src/config/device_choice.h"
#include "src/config/run_option_rows.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

using Row = OptionRow<RunOptions>;

constexpr const char* kCommunication = "Several ranks";
constexpr std::uint64_t kMostShare = 1'000'000'000;
constexpr double kMostSlower = 1000;

void set_device(RunOptions& options, const OptionInfo& option, std::string_view text) {
  if (!is_device(text)) refuse_value(option, text);
  options.device = text;
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
              .scope = OptionScope::replicas,
              .grid = true},
             [=](RunOptions& options, const OptionInfo& option, std::string_view text) {
               if (text == "auto")
                 (options.*field).reset();
               else
                 options.*field = real_value(option, text, kLeast, kMost);
             }};
}

/// Gives the option what on, off and auto need; the rest is the caller's.
Row on_off_auto_option(OptionInfo info, OnOffAuto RunOptions::* field) {
  info.value = "on|off|auto";
  info.fallback = "auto";
  info.choices = {"on", "off", "auto"};
  return Row{std::move(info),
             [=](RunOptions& options, const OptionInfo& option, std::string_view text) {
               const std::string mode = choice_value(option, text);
               options.*field = mode == "on"    ? OnOffAuto::on
                                : mode == "off" ? OnOffAuto::off
                                                : OnOffAuto::automatic;
             }};
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

}  // namespace

void append_machine(RunOptionRows& rows) {
  rows.push_back(whole_option({.name = "nproc",
                               .short_name = 'n',
                               .value = "N",
                               .group = "Where to run",
                               .help = "ranks or replicas on this host",
                               .fallback = "1",
                               .scope = OptionScope::replicas,
                               .grid = true},
                              &RunOptions::nproc, 1, kMostRanks));
  rows.push_back(option_of_part(
      &RunOptions::hosts,
      hosts_option({.excludes = {"nproc", "rank", "program"}, .scope = OptionScope::repetitions})));
  rows.push_back(
      option_of_part(&RunOptions::hosts, host_shell_option({.scope = OptionScope::repetitions})));
  rows.push_back(
      option_of_part(&RunOptions::hosts,
                     try_hosts_option({.excludes = {"hosts", "shell", "nproc", "rank", "program"},
                                       .scope = OptionScope::repetitions})));
  rows.push_back(
      flag_option({.name = "oversubscribe",
                   .help = fmt::format("allow more than {} ranks a core", kMostRanksPerCore)},
                  &RunOptions::oversubscribe));
  rows.push_back(Row{{.name = "device",
                      .value = "DEVICE",
                      .help = "cpu, cuda (all GPUs), cuda:0+1 (these), or auto",
                      .fallback = "auto",
                      .domain = "cpu, cuda, cuda:I+J+... or auto",
                      .choices = {"auto", "cpu", "cuda"}},
                     set_device});
  rows.push_back(on_off_auto_option(
      {.name = "graph",
       .help = "run each step on a GPU as one CUDA graph: on, off, auto (where the strategy can)",
       .grid = true},
      &RunOptions::graph));
  rows.push_back(whole_option({.name = "threads",
                               .value = "N",
                               .help = "threads of one CPU replica",
                               .fallback = "cores / nproc",
                               .example = "2",
                               .grid = true},
                              &RunOptions::threads, 1, 1024));
}

void append_communication(RunOptionRows& rows) {
  rows.push_back(bucket_row(
      "bucket-mb",
      "MiB of gradients that are reduced together; larger where there would be over 128 buckets",
      "auto: as measured", &RunOptions::bucket_mb));
  rows.push_back(bucket_row("first-bucket-mb",
                            "MiB of the first bucket, whose gradients are ready first",
                            "auto: a quarter", &RunOptions::first_bucket_mb));
  rows.push_back(on_off_auto_option({.name = "overlap",
                                     .group = kCommunication,
                                     .help = "start to reduce gradients during backward",
                                     .scope = OptionScope::replicas,
                                     .grid = true},
                                    &RunOptions::overlap));
  rows.push_back(choice_option({.name = "reduce-precision",
                                .value = "TYPE",
                                .help = "type of the gradients on the wire; sums are fp32",
                                .fallback = "fp32",
                                .choices = {"fp32", "bf16"},
                                .scope = OptionScope::replicas,
                                .grid = true},
                               &RunOptions::reduce_precision));
  rows.push_back(switch_option({.name = "broadcast-buffers",
                                .value = "on|off",
                                .help = "send rank 0's batch-norm statistics to all ranks before "
                                        "each step, as PyTorch's DDP does",
                                .fallback = "on",
                                .grid = true},
                               &RunOptions::broadcast_buffers));
  rows.push_back(choice_option({.name = "communicator",
                                .value = "NAME",
                                .help = "what moves gradients between ranks",
                                .fallback = std::string(kAutomaticCommunicator),
                                .choices = communicator_choices(true),
                                .scope = OptionScope::replicas,
                                .grid = true},
                               &RunOptions::communicator));
  rows.push_back(
      text_option({.name = "interface",
                   .value = "NAME",
                   .help = "network interface for gloo and NCCL; by default loopback (NCCL: its "
                           "own choice), or the one that reaches the other hosts",
                   .example = "eth0",
                   .scope = OptionScope::replicas,
                   .grid = true},
                  &RunOptions::interface));
  rows.push_back(real_option({.name = "timeout",
                              .value = "S",
                              .help = "longest wait for another rank, and for a process that is "
                                      "stopped",
                              .fallback = "60"},
                             &RunOptions::timeout_seconds, 0.1, 86400));
}

void append_place(RunOptionRows& rows) {
  const auto append = [&](OptionInfo info, std::optional<Size> GivenPlace::* field,
                          std::uint64_t least, std::uint64_t most) {
    info.group = kCommunication;
    info.scope = OptionScope::place;
    rows.push_back(
        option_of_part(&RunOptions::place, whole_option(std::move(info), field, least, most)));
  };
  append({.name = "rank",
          .value = "R",
          .help = "this process's rank among --world-size ranks, which meet at PTBENCH_ADDR; by "
                  "default from torchrun, mpirun or srun",
          .fallback = "the launcher's",
          .example = "1"},
         &GivenPlace::rank, 0, kMostRanks - 1);
  append({.name = "world-size",
          .value = "N",
          .help = "number of ranks that are started one by one; with --rank",
          .example = "2"},
         &GivenPlace::world_size, 1, kMostRanks);
  append({.name = "local-rank",
          .value = "L",
          .help = "this process's rank on its host; with --rank",
          .fallback = "the rank",
          .example = "1"},
         &GivenPlace::local_rank, 0, kMostRanks - 1);
}

void append_imbalance(RunOptionRows& rows) {
  rows.push_back(Row{{.name = "shares",
                      .value = "A+B",
                      .group = "Imbalance on purpose",
                      .help = "samples in each rank's micro-batch, for unequal shares",
                      .example = "96+32",
                      .domain = "a whole number from 1 to 10^9 for each rank, joined by '+'",
                      .excludes = {"batch-size", "global-batch"},
                      .scope = OptionScope::replicas,
                      .grid = true},
                     set_shares});
  rows.push_back(Row{{.name = "slow-rank",
                      .value = "R:F",
                      .help = "make rank R compute F times slower",
                      .example = "1:1.3",
                      .domain = "a rank and a factor from 1 to 1000, as 1:1.3",
                      .scope = OptionScope::replicas,
                      .grid = true},
                     set_slow_rank});
}

}  // namespace ptbench
