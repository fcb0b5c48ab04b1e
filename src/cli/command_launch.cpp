#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/cli/command_table.h"
#include "src/process/interrupt.h"
#include "src/ranks/host_processes.h"
#include "src/ranks/rank_card.h"
#include "src/session/outside_ranks.h"

namespace ptbench {
namespace {

struct LaunchOptions {
  HostChoice hosts;
  std::optional<Size> ranks;  ///< of those that the hosts are to have; empty: all
  std::vector<std::string> command;
};

ExitCode launch_command(const LaunchOptions& options) {
  refuse_outside_ranks("launch");
  const Size most = ranks_of(options.hosts.slots);
  const Size ranks = options.ranks.value_or(most);
  if (ranks > most)
    throw usage_error(fmt::format("--nproc {}: --hosts names only {} ranks", ranks, most),
                      "name more hosts, or more ranks of each: --hosts a:4,b:4");
  InterruptWatch interrupt;
  const int code = run_on_hosts(
      {.hosts = {.slots = first_ranks(options.hosts.slots, ranks), .shell = options.hosts.shell},
       .command = options.command,
       .interrupted = [&] { return interrupt.requested(); }});
  return static_cast<ExitCode>(code);
}

OptionTable<LaunchOptions> launch_option_table() {
  return OptionTable<LaunchOptions>(
      {option_of_part(&LaunchOptions::hosts,
                      hosts_option({.group = "Where to run", .required = true})),
       whole_option({.name = "nproc",
                     .short_name = 'n',
                     .value = "N",
                     .help = "start the first N ranks only",
                     .fallback = "all",
                     .example = "2"},
                    &LaunchOptions::ranks, 1, kMostRanks),
       option_of_part(&LaunchOptions::hosts, host_shell_option({})),
       text_list_option({.name = "COMMAND",
                         .group = "Arguments",
                         .help = "the program to start, and its arguments, after --",
                         .example = "ptbench run -s ddp",
                         .argument = true,
                         .required = true},
                        &LaunchOptions::command)});
}

}  // namespace

Command make_launch_command() {
  return with_options<LaunchOptions>(
      {.name = "launch",
       .summary = "start a command as ranks on several hosts, over ssh",
       .description =
           "Starts one process for each rank, and gives it its place (PTBENCH_RANK and others), "
           "the address where ranks meet, and a token that keeps strangers out. The first host is "
           "this one, and the program has the same path on all hosts. Ends with rank 0's exit "
           "code, once all ranks have ended. `sweep --threads 4 --launcher 'ptbench launch --hosts "
           "node1:2,node2:2 -n {n} --'` draws a scaling curve with it.",
       .examples = {{"ptbench launch --hosts node1:2,node2:2 -- ptbench comm",
                     "collectives between the hosts"},
                    {"ptbench launch --hosts node1:2,node2:2 -n 3 -- ptbench run -s ddp",
                     "a run of the first three ranks"}}},
      launch_option_table(), launch_command);
}

}  // namespace ptbench
