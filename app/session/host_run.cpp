#include "app/session/host_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/session/outside_ranks.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/ranks/host_list.h"
#include "src/ranks/host_processes.h"
#include "src/ranks/rank_source.h"
#include "strategies/strategy_catalog.h"

namespace ptbench {
namespace {

void require_ranks(const RunOptions& options) {
  if (options.is_pytorch())
    throw usage_error("--hosts starts only ptbench's own ranks, not those of another engine",
                      "leave --engine out, or start the engine with its own launcher");
  const StrategyRow strategy = find_strategy(options.strategy);
  if (!strategy.several_ranks || strategy.one_process)
    throw usage_error(
        fmt::format("--hosts: strategy '{}' is one process, which is on one host", strategy.name),
        "use --strategy ddp, or leave --hosts out");
  if (ranks_of(options.hosts.slots) < 2)
    throw usage_error("--hosts: one rank does not need several hosts",
                      "name more, or more ranks of each: --hosts a:2,b:2");
}

}  // namespace

RunOptions as_on_hosts(const RunOptions& options, const Topology& topology) {
  refuse_outside_ranks("run --hosts");
  require_ranks(options);
  require_meeting_place(options.hosts.slots);
  const Size cores = std::ssize(topology.cores);
  const Size local = options.hosts.slots.front().ranks;
  Welcome welcome{.cores = {.cores = static_cast<int>(cores * std::ssize(options.hosts.slots)),
                            .threads = std::max<Size>(1, cores / local),
                            .index = 0}};
  for (const HostSlots& slots : options.hosts.slots)
    for (Size rank = 0; rank < slots.ranks; ++rank) {
      welcome.hosts.push_back(slots.host);
      welcome.local_ranks.push_back(rank);
    }
  RankPlace place;
  place.source = RankSource::ptbench;
  place.world_size = std::ssize(welcome.hosts);
  RunOptions result = with(welcome, options, place);
  result.nproc = place.world_size;
  if (options.steps || options.epochs) result.repeats = 1;
  return result;
}

RankLauncher launcher_on(const RunOptions& options) {
  std::string command = shell_word(name_for_others("/proc/self/exe")) + " launch";
  for (const std::string& option :
       {"--hosts=" + text_of(options.hosts.slots), "--shell=" + options.hosts.shell})
    command += " " + shell_word(option);  // in the bytes that were given
  return {.command = command + " --", .ranks = options.nproc};
}

void tell_hosts(const RunRecord& record) {
  std::vector<std::string> hosts;
  for (const RankRecord& rank : record.ranks) hosts.push_back(rank.host);
  if (hosts.empty()) return;
  RankPlace place;
  place.source = RankSource::ptbench;
  place.world_size = std::ssize(hosts);
  log_note(describe(place, hosts, record.strategy.communicator.value_or("none")));
}

}  // namespace ptbench
