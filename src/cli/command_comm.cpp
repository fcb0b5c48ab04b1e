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
#include "src/base/rough_duration.h"
#include "src/base/units.h"
#include "src/cli/comm_rank.h"
#include "src/cli/comm_result.h"
#include "src/cli/command_table.h"
#include "src/comm/catalog.h"
#include "src/comm/nccl_module.h"
#include "src/comm/shared_region.h"
#include "src/config/configuration.h"
#include "src/config/device_choice.h"
#include "src/device/affinity.h"
#include "src/device/topology.h"
#include "src/doctor/comm_bench.h"
#include "src/doctor/comm_files.h"
#include "src/doctor/comm_options.h"
#include "src/doctor/comm_tables.h"
#include "src/process/interrupt.h"
#include "src/process/long_work.h"
#include "src/process/progress.h"
#include "src/ranks/peer_watch.h"
#include "src/ranks/rank_processes.h"
#include "src/session/outside_group.h"
#include "src/session/outside_ranks.h"

namespace ptbench {
namespace {

/// What a comm that is measuring works with.
struct CommWork {
  const CommOptions& options;
  const Topology& topology;
  InterruptWatch& interrupt;
  LongWork& whole;
  Progress& progress;
  Size rows_before = 0;  ///< of other communicators

  [[nodiscard]] Size all_rows() const {
    return std::ssize(options.communicators) * comm_rows(plan_of(options));
  }
  /// So many rows of the communicator that is measured are through.
  void reach(Size rows) const {
    const Size done = rows_before + rows;
    const std::string place =
        fmt::format("row {} of {}", std::min(done + 1, all_rows()), all_rows());
    whole.reach(static_cast<double>(done) / static_cast<double>(all_rows()), place);
    progress.update(whole.share(), place);
  }
};

void pin_to(std::optional<int> cpu) {
  if (cpu) (void)pin_this_thread(*cpu);
}

/// This process is one of several ranks. Rank 0 prints each row as soon as it has it.
ExitCode be_rank(const CommOptions& options) {
  InterruptWatch interrupt;  // before any thread is made
  const SharedRegion region = SharedRegion::open(*options.region);
  if (options.rank >= region.world_size())
    throw usage_error("--as-rank is not a rank of the region", "leave it to ptbench comm -n");
  PhaseBoard(region.phases()).enter(options.rank, RankPhase::measuring);
  pin_to(options.cpu);
  const std::string& name = options.communicators.front();
  const CommunicatorRow row =
      find_communicator(name, region.world_size(), is_on_gpus(options, name));
  (void)measure_with(
      row, options, &region,
      {.interrupted = [&] { return interrupt.requested(); },
       .measured =
           [](const CommMeasurement& measured) { write_standard_output(comm_lines({measured})); }});
  return ExitCode::ok;
}

CommResult run_alone(const CommunicatorRow& row, const CommWork& work) {
  const AffinityGuard affinity;
  pin_to(work.topology.cores.front().cpu);
  CommResult result{.rows = measure_with(
                        row, work.options, nullptr,
                        {.interrupted = [&] { return work.interrupt.requested(); },
                         .measured = [&, rows = Size{0}](
                                         const CommMeasurement&) mutable { work.reach(++rows); }})};
  if (!work.options.json) result.header = header_line(work.topology, 1, row.name);
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

/// `gpus`: of the ranks; empty: values lie in the host's memory.
CommResult run_processes(const CommunicatorRow& row, const CommWork& work, Size ranks,
                         const std::vector<std::string>& gpus) {
  const CommOptions& options = work.options;
  const Topology& topology = work.topology;
  const CommPlan plan = plan_of(options);
  const SharedRegion region = SharedRegion::create(ranks, comm_bytes_per_rank(plan, ranks),
                                                   static_cast<int>(topology.cores.size()));
  if (gpus.empty()) warn_of_shared_cores(topology, ranks);
  std::string header;
  if (!options.json)
    header = gpus.empty() ? header_line(topology, ranks, row.name)
                          : fmt::format("{}; communicator {}\n", fmt::join(gpus, ", "), row.name);
  RankProcesses processes{
      .timeout = plan.timeout,
      .interrupted =
          [&] {
            work.whole.tick();
            return work.interrupt.requested();
          },
      .heard =
          [&, text = std::string(), rows = Size{0}](std::string_view more) mutable {
            text += more;
            const std::size_t whole_lines = text.rfind('\n') + 1;  // 0: none
            rows += std::ssize(read_comm_lines(text.substr(0, whole_lines)));
            text.erase(0, whole_lines);
            work.reach(rows);
          }};
  for (Size rank = 0; rank < ranks; ++rank) {
    const std::size_t core = static_cast<std::size_t>(rank) % topology.cores.size();
    processes.arguments.push_back(
        arguments_of_rank(row, options, region, rank, topology.cores[core].cpu,
                          gpus.empty() ? "cpu" : gpus.at(static_cast<std::size_t>(rank))));
  }
  const RankOutcome outcome = run_ranks(region, processes);
  if (outcome.error && !outcome.interrupted) throw Error(*outcome.error);
  return CommResult{.header = std::move(header), .rows = read_comm_lines(outcome.output)};
}

/// Between GPUs, each with a process; by default all that are listed, or all there are.
CommResult run_between_gpus(const std::string& communicator, const CommWork& work) {
  const CommOptions& options = work.options;
  const std::string device = options.device == "auto" ? "cuda" : options.device;
  require_communicator_of(communicator, true);
  if (const NcclProbe nccl = probe_nccl(); !nccl.usable) throw nccl_absent_error(nccl);
  const Size usual =
      device == "cuda" ? std::ssize(CudaModule(device).devices()) : devices_listed(device);
  const Size ranks = options.nproc.value_or(usual);
  const auto gpus = gpus_of_replicas(device, ranks, false);
  const CommunicatorRow row = find_communicator(communicator, std::max<Size>(2, ranks), true);
  require_memory_for(plan_of(options), ranks, ranks);  // the host's side of one array at a time
  return run_processes(row, work, ranks, gpus);
}

CommResult run_with(const std::string& communicator, const CommWork& work) {
  const CommOptions& options = work.options;
  const Topology& topology = work.topology;
  if (is_on_gpus(options, communicator)) return run_between_gpus(communicator, work);
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
  if (row.several_ranks) return run_processes(row, work, ranks, {});
  return run_alone(row, work);
}

/// Refuses what ranks that somebody else started cannot do.
void require_possible_group(const CommOptions& options, const RankPlace& place) {
  if (options.nproc)
    throw usage_error(fmt::format("--nproc {}: there are already {} ranks from {}", *options.nproc,
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
  log_error(
      fmt::format("rank {} had to end, because rank {} gave up: {}", rank, by.rank, by.reason));
  std::_Exit(static_cast<int>(ExitCode::failed));
}

/// This process is one of several ranks that somebody else started. Rank 0 prints.
ExitCode be_outside_rank(const CommOptions& given, const RankPlace& place,
                         const Topology& topology) {
  require_possible_group(given, place);
  CommFiles files(place.rank == 0 ? given.outputs : std::vector<std::string>());
  OutsideGroup group = meet_group(place, terms_of(given, place.world_size), topology);
  InterruptWatch interrupt;  // before any thread is made
  PhaseBoard(group.region.phases()).enter(place.rank, RankPhase::measuring);
  pin_to(topology.cores[static_cast<std::size_t>(group.cores.index) % topology.cores.size()].cpu);
  PeerWatch watch(group.region, std::move(group.links), plan_of(given).timeout,
                  {.end = [&](const GivenUp& by) { end_hung_rank(place.rank, by); }});
  try {
    const CommunicatorRow row = row_of(given, group);
    const CommOptions options = options_of(given, group);
    const auto rows =
        measure_with(row, options, &group.region,
                     {.interrupted = [&] { return interrupt.requested(); }}, group.apart.get());
    watch.let_end();
    if (place.rank != 0) return interrupt.requested() ? ExitCode::interrupted : ExitCode::ok;
    const std::vector<std::string> here{host_name()};
    log_note(describe(place, group.apart ? group.apart->hosts : here, row.name));
    const CommResult result{
        .header = row.on_gpus ? fmt::format("a GPU for each rank; communicator {}\n", row.name)
                              : header_line(topology, place.world_size, row.name),
        .rows = rows};
    if (std::ssize(rows) < comm_rows(plan_of(options)))
      return end_interrupted(result, options, files);
    publish(result, options, files);
    return ExitCode::ok;
  } catch (const std::exception& error) {
    group.region.give_up(place.rank, error.what());
    watch.let_end();
    watch.wait_for_rank_zero();
    throw;
  }
}

/// Says how long it is going to take, by what calls on an ordinary machine do.
void announce(const CommWork& work) {
  const CommPlan plan = plan_of(work.options);
  const auto ranks = work.options.nproc.value_or(std::ssize(work.topology.cores));
  const double seconds = static_cast<double>(work.options.communicators.size()) *
                         expected_comm_seconds(plan, std::max<Size>(ranks, 1));
  work.whole.begin(fmt::format("{} rows, about {}", work.all_rows(), rough_duration(seconds)),
                   seconds);
  work.progress.announce("measuring");
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
  CommFiles files(options.outputs);
  InterruptWatch interrupt;  // before any thread is made
  const SteadyClock clock;
  Progress progress(clock);
  LongWork whole(clock, {.progress_is_seen = progress.visible()});
  CommWork work{.options = options,
                .topology = topology,
                .interrupt = interrupt,
                .whole = whole,
                .progress = progress};
  announce(work);
  CommResult all;
  for (const std::string& communicator : options.communicators) {
    CommResult result;
    try {
      result = run_with(communicator, work);
    } catch (const Error&) {
      progress.clear();
      publish_beside_error(all, options, files);
      throw;
    }
    all.header += result.header;
    all.rows.insert(all.rows.end(), result.rows.begin(), result.rows.end());
    work.rows_before = std::ssize(all.rows);
    progress.clear();
    if (std::ssize(result.rows) < comm_rows(plan_of(options)))
      return end_interrupted(all, options, files);
  }
  publish(all, options, files);
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
           "what a link of a ring would carry. Every rank rewrites its values before each call, "
           "and the results are checked.",
       .examples = {{"ptbench comm", "all-reduce between as many ranks as there are cores"},
                    {"ptbench comm -n 2 --collective all_reduce,broadcast --sizes 4K,1M,16M",
                     "two collectives at three sizes"},
                    {"ptbench comm --communicator shm,gloo --sizes 4K,16M",
                     "shared memory and gloo's TCP in one table"},
                    {"ptbench comm --device cuda -b 8 -e 128M -f 2",
                     "all-reduce between all GPUs, at sizes as nccl-tests takes them"},
                    {"ptbench comm -o comm.json", "the table, and raw numbers for a script"}},
       .options = {}},
      comm_option_table(), comm_command);
}

}  // namespace ptbench
