#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda_module.h"
#include "reports/output_file.h"
#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/cli/comm_rank.h"
#include "src/cli/command_table.h"
#include "src/comm/catalog.h"
#include "src/comm/nccl_module.h"
#include "src/comm/shared_region.h"
#include "src/config/configuration.h"
#include "src/config/device_choice.h"
#include "src/device/affinity.h"
#include "src/device/core_latency.h"
#include "src/device/cpu_device.h"
#include "src/device/topology.h"
#include "src/doctor/comm_bench.h"
#include "src/doctor/comm_options.h"
#include "src/doctor/comm_tables.h"
#include "src/process/interrupt.h"
#include "src/ranks/peer_watch.h"
#include "src/ranks/rank_processes.h"
#include "src/session/outside_group.h"
#include "src/session/outside_ranks.h"

namespace ptbench {
namespace {

/// What was measured with one communicator, and a line that says where.
struct CommResult {
  std::string header;
  std::vector<CommMeasurement> rows;
};

/// Throws where anything was wrong, once it is printed.
void print(const CommResult& result, const CommOptions& options) {
  const std::vector<CommMeasurement>& rows = result.rows;
  write_standard_output(options.json ? table_json(comm_json_table(rows))
                                     : result.header + "\n" + table_text(comm_text_table(rows)) +
                                           std::string(comm_columns_text()));
  Size wrong = 0;
  for (const CommMeasurement& row : rows)
    wrong += row.wrong + (row.out_of_place ? row.out_of_place->wrong : 0);
  if (wrong > 0)
    throw run_error(fmt::format("{} values are wrong", format_count(wrong)),
                    "report it, with the command");
}

std::string cores_text(const Topology& topology) {
  const std::size_t cores = topology.cores.size();
  return fmt::format("{} core{}", cores, cores == 1 ? "" : "s");
}

std::string header_line(const Topology& topology, Size ranks, const std::string& communicator) {
  std::vector<int> cpus;
  for (const Core& core : topology.cores) cpus.push_back(core.cpu);
  const DeviceConditions cores = CpuDevice(topology, std::move(cpus)).look();
  return fmt::format(
      "{}, {}{}; {}; communicator {}\n", printable(topology.cpu_model), cores_text(topology),
      cores.has_latency && !cores.latency.disturbed
          ? fmt::format(" ({} apart: {})", format_duration(cores.latency.seconds),
                        name_of(placement_of(cores.latency.seconds)))
          : "",
      ranks == 1 ? std::string("1 rank") : fmt::format("{} ranks, processes", ranks), communicator);
}

void pin_to(std::optional<int> cpu) {
  if (cpu) (void)pin_this_thread(*cpu);
}

/// This process is one of several ranks.
ExitCode be_rank(const CommOptions& options) {
  const SharedRegion region = SharedRegion::open(*options.region);
  if (options.rank >= region.world_size())
    throw usage_error("--as-rank is none of the region's", "leave it to ptbench comm -n");
  PhaseBoard(region.phases()).enter(options.rank, RankPhase::measuring);
  pin_to(options.cpu);
  const std::string& name = options.communicators.front();
  const CommunicatorRow row =
      find_communicator(name, region.world_size(), is_on_gpus(options, name));
  const auto rows = measure_with(row, options, &region);
  if (options.rank == 0) write_standard_output(comm_lines(rows));
  return ExitCode::ok;
}

CommResult run_alone(const CommunicatorRow& row, const CommOptions& options,
                     const Topology& topology) {
  const AffinityGuard affinity;
  pin_to(topology.cores.front().cpu);
  CommResult result{.header = {}, .rows = measure_with(row, options, nullptr)};
  if (!options.json) result.header = header_line(topology, 1, row.name);
  return result;
}

/// `device`: "cpu", or the rank's GPU.
std::vector<std::string> arguments_of_rank(const CommunicatorRow& row, const CommOptions& options,
                                           const SharedRegion& region, Size rank, int cpu,
                                           const std::string& device) {
  const CommPlan plan = plan_of(options);
  std::vector<std::string> arguments{
      "comm",
      fmt::format("--communicator={}", row.name),
      fmt::format("--region={}", region.descriptor()),
      fmt::format("--as-rank={}", rank),
      fmt::format("--cpu={}", cpu),
      fmt::format("--device={}", device),
      fmt::format("--warmup-iters={}", plan.warm_up_calls),
      fmt::format("--timeout={}", options.timeout_seconds),
      fmt::format("--collective={}", fmt::join(plan.collectives, ",")),
      fmt::format("--sizes={}", fmt::join(plan.sizes, ","))};
  if (plan.calls) arguments.push_back(fmt::format("--iters={}", *plan.calls));
  if (!options.interface.empty())
    arguments.push_back(fmt::format("--interface={}", options.interface));
  return arguments;
}

/// `arrays`: as long as the longest, that all ranks together have in the host's memory.
void require_memory_for(const CommPlan& plan, Size ranks, Size arrays) {
  const Bytes wanted = static_cast<Bytes>(arrays) * *std::ranges::max_element(plan.sizes);
  const Bytes available = available_memory();
  if (wanted <= available) return;
  throw usage_error(fmt::format("{} ranks need about {} of memory, {} is available", ranks,
                                format_bytes(wanted), format_bytes(available)),
                    "choose smaller --sizes, or fewer ranks (-n)");
}

void warn_of_shared_cores(const Topology& topology, Size ranks) {
  const Size cores = std::ssize(topology.cores);
  if (ranks <= cores) return;
  log_warning(fmt::format("{} ranks share {}: times include waiting for a core; use --nproc {}{}",
                          ranks, cores_text(topology), cores, cores == 1 ? "" : " or less"));
}

/// Empty where it is interrupted. `gpus`: of the ranks; empty: values lie in the host's memory.
std::optional<CommResult> run_processes(const CommunicatorRow& row, const CommOptions& options,
                                        const Topology& topology, Size ranks,
                                        const std::vector<std::string>& gpus) {
  InterruptWatch interrupt;  // before any thread is made
  const CommPlan plan = plan_of(options);
  const SharedRegion region = SharedRegion::create(ranks, comm_bytes_per_rank(plan, ranks),
                                                   static_cast<int>(topology.cores.size()));
  if (gpus.empty()) warn_of_shared_cores(topology, ranks);
  std::string header;
  if (!options.json)
    header = gpus.empty() ? header_line(topology, ranks, row.name)
                          : fmt::format("{}; communicator {}\n", fmt::join(gpus, ", "), row.name);
  RankProcesses processes{.arguments = {}, .timeout = plan.timeout, .interrupted = [&] {
                            return interrupt.requested();
                          }};
  for (Size rank = 0; rank < ranks; ++rank) {
    const std::size_t core = static_cast<std::size_t>(rank) % topology.cores.size();
    processes.arguments.push_back(
        arguments_of_rank(row, options, region, rank, topology.cores[core].cpu,
                          gpus.empty() ? "cpu" : gpus.at(static_cast<std::size_t>(rank))));
  }
  const RankOutcome outcome = run_ranks(region, processes);
  if (outcome.interrupted) return std::nullopt;
  if (outcome.error) throw Error(*outcome.error);
  return CommResult{.header = std::move(header), .rows = read_comm_lines(outcome.output)};
}

/// Between GPUs, each with a process; by default all that are listed, or all there are.
std::optional<CommResult> run_between_gpus(const std::string& communicator,
                                           const CommOptions& options, const Topology& topology) {
  const std::string device = options.device == "auto" ? "cuda" : options.device;
  require_communicator_of(communicator, true);
  if (const NcclProbe nccl = probe_nccl(); !nccl.usable) throw nccl_absent_error(nccl);
  const Size usual =
      device == "cuda" ? std::ssize(CudaModule(device).devices()) : devices_listed(device);
  const Size ranks = options.nproc.value_or(usual);
  const auto gpus = gpus_of_replicas(device, ranks, false);
  const CommunicatorRow row = find_communicator(communicator, std::max<Size>(2, ranks), true);
  require_memory_for(plan_of(options), ranks, ranks);  // the host's side of one array at a time
  return run_processes(row, options, topology, ranks, gpus);
}

/// Empty where it is interrupted.
std::optional<CommResult> run_with(const std::string& communicator, const CommOptions& options,
                                   const Topology& topology) {
  if (is_on_gpus(options, communicator)) return run_between_gpus(communicator, options, topology);
  require_communicator_of(communicator, false);
  const auto several = std::max<Size>(2, static_cast<Size>(topology.cores.size()));
  const Size usual = find_communicator(communicator, several).several_ranks ? several : 1;
  const Size ranks = options.nproc.value_or(usual);
  const CommunicatorRow row = find_communicator(communicator, ranks);
  if (!row.several_ranks && ranks > 1)
    throw usage_error(
        fmt::format("--communicator {} is for one rank, --nproc is {}", row.name, ranks),
        "leave out --communicator");
  require_memory_for(plan_of(options), ranks, comm_arrays(plan_of(options), ranks));
  if (row.several_ranks) return run_processes(row, options, topology, ranks, {});
  return run_alone(row, options, topology);
}

/// Refuses what ranks that somebody else started cannot do.
void require_possible_group(const CommOptions& options, const RankPlace& place) {
  if (options.nproc)
    throw usage_error(fmt::format("--nproc {}: there are {} ranks from {} already", *options.nproc,
                                  place.world_size, name_of(place.source)),
                      fmt::format("leave --nproc out, or {}", without(place.source)));
  const std::string& name = options.communicators.front();
  if (options.communicators.size() > 1)
    throw usage_error(
        fmt::format("ranks from {} can measure only one communicator", name_of(place.source)),
        fmt::format("name one, or {}", without(place.source)));
  const bool on_gpus = is_on_gpus(options, name);
  require_communicator_of(name, on_gpus);
  if (!on_gpus) return;
  if (const NcclProbe nccl = probe_nccl(); !nccl.usable) throw nccl_absent_error(nccl);
}

/// The options of one of several ranks that somebody else started, with its own GPU.
CommOptions options_of(CommOptions options, const OutsideGroup& group) {
  options.rank = group.place.rank;
  if (!is_on_gpus(options, options.communicators.front())) return options;
  const std::string device = options.device == "auto" ? "cuda" : options.device;
  const Size wanted = std::max(group.local_rank + 1, devices_listed(device));
  options.device =
      gpus_of_replicas(device, wanted, false).at(static_cast<std::size_t>(group.local_rank));
  return options;
}

/// Who moves values between the ranks of the group.
CommunicatorRow row_of(const CommOptions& given, const OutsideGroup& group) {
  const bool on_gpus = is_on_gpus(given, given.communicators.front());
  std::string communicator = given.communicators.front();
  if (group.apart && !on_gpus)
    communicator = communicator_between(group.apart->hosts, communicator, group.place);
  require_communicator(communicator);
  CommunicatorRow row = find_communicator(communicator, group.place.world_size, on_gpus);
  require_interface_of({row.name}, given.interface);
  return row;
}

/// What all ranks of a group have to be told alike.
GroupTerms terms_of(const CommOptions& options, Size ranks) {
  const CommPlan plan = plan_of(options);
  const std::string& communicator = options.communicators.front();
  return {.options = {{"communicator", communicator},
                      {"collective", fmt::format("{}", fmt::join(plan.collectives, ","))},
                      {"sizes", fmt::format("{}", fmt::join(plan.sizes, ","))},
                      {"device", options.device},
                      {"iters", fmt::format("{}", plan.calls.value_or(0))},
                      {"warmup-iters", fmt::format("{}", plan.warm_up_calls)},
                      {"interface", options.interface}},
          .communicator = communicator,
          .bytes_per_rank = comm_bytes_per_rank(plan, ranks),
          .timeout = plan.timeout};
}

/// How one of them ends that hangs once another has given up.
void end_hung_rank(Size rank, const GivenUp& by) {
  log_error(fmt::format("rank {} was ended: rank {} gave up: {}", rank, by.rank, by.reason));
  std::_Exit(static_cast<int>(ExitCode::failed));
}

/// This process is one of several ranks that somebody else started. Rank 0 prints.
ExitCode be_outside_rank(const CommOptions& given, const RankPlace& place,
                         const Topology& topology) {
  require_possible_group(given, place);
  OutsideGroup group = meet_group(place, terms_of(given, place.world_size), topology);
  PhaseBoard(group.region.phases()).enter(place.rank, RankPhase::measuring);
  pin_to(topology.cores[static_cast<std::size_t>(group.cores.index) % topology.cores.size()].cpu);
  PeerWatch watch(group.region, std::move(group.links), plan_of(given).timeout,
                  {.leave = {}, .end = [&](const GivenUp& by) { end_hung_rank(place.rank, by); }});
  try {
    const CommunicatorRow row = row_of(given, group);
    const CommOptions options = options_of(given, group);
    const auto rows = measure_with(row, options, &group.region, group.apart.get());
    watch.let_end();
    if (place.rank != 0) return ExitCode::ok;
    const std::vector<std::string> here{host_name()};
    log_note(describe(place, group.apart ? group.apart->hosts : here, row.name));
    print({.header = row.on_gpus ? fmt::format("a GPU for each rank; communicator {}\n", row.name)
                                 : header_line(topology, place.world_size, row.name),
           .rows = rows},
          options);
    return ExitCode::ok;
  } catch (const std::exception& error) {
    group.region.give_up(place.rank, error.what());
    watch.let_end();
    watch.wait_for_rank_zero();
    throw;
  }
}

/// What is to be measured, "auto" on GPUs by its name.
std::vector<std::string> names_of(const CommOptions& options) {
  std::vector<std::string> names = options.communicators;
  for (std::string& name : names)
    if (is_on_gpus(options, name)) name = find_communicator(name, 2, true).name;
  return names;
}

ExitCode comm_command(const CommOptions& options) {
  if (options.region) return be_rank(options);
  for (const std::string& communicator : options.communicators) require_communicator(communicator);
  const Topology topology = discover_topology();
  if (const auto place = place_among_ranks()) return be_outside_rank(options, *place, topology);
  require_interface_of(names_of(options), options.interface);
  CommResult all;
  const auto print_finished = [&] {
    if (!all.rows.empty()) print(all, options);
  };
  for (const std::string& communicator : options.communicators) {
    std::optional<CommResult> result;
    try {
      result = run_with(communicator, options, topology);
    } catch (const Error&) {
      print_finished();
      throw;
    }
    if (!result) {
      print_finished();
      return ExitCode::interrupted;
    }
    all.header += result->header;
    all.rows.insert(all.rows.end(), result->rows.begin(), result->rows.end());
  }
  print(all, options);
  return ExitCode::ok;
}

}  // namespace

Command make_comm_command() {
  return with_options<CommOptions>(
      {.name = "comm",
       .summary = "time collectives between ranks",
       .description =
           "Each collective is timed at each size: the slowest rank's time, the median over calls. "
           "The columns and their formulas are those of nccl-tests: algbw is size over time, busbw "
           "what a link of a ring would carry. Every rank writes its values anew before each call, "
           "and the results are checked.",
       .examples = {{"ptbench comm", "all-reduce between as many ranks as there are cores"},
                    {"ptbench comm -n 2 --collective all_reduce,broadcast --sizes 4K,1M,16M",
                     "two collectives at three sizes"},
                    {"ptbench comm --communicator shm,gloo --sizes 4K,16M",
                     "shared memory and gloo's TCP in one table"},
                    {"ptbench comm --device cuda -b 8 -e 128M -f 2",
                     "all-reduce between all GPUs, at sizes as nccl-tests takes them"},
                    {"ptbench comm --json", "for a script, with raw numbers"}},
       .options = {},
       .run = {}},
      comm_option_table(), comm_command);
}

}  // namespace ptbench
