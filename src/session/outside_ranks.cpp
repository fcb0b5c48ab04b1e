#include "src/session/outside_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/process_state.h"
#include "src/comm/catalog.h"
#include "src/comm/ranks_of_hosts.h"
#include "src/config/run_options.h"
#include "src/config/version.h"
#include "src/process/local_socket.h"
#include "src/session/rank_run.h"
#include "strategies/catalog.h"

namespace ptbench {
namespace {

/// Whether ranks may differ in it: who they are, and files that only rank 0 reads or writes.
bool may_differ(OptionScope scope) {
  switch (scope) {
    case OptionScope::launch:
    case OptionScope::place:
    case OptionScope::report:
    case OptionScope::plan:
    case OptionScope::training_files: return true;
    default: return false;
  }
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    names.emplace_back(std::string_view(*entry).substr(0, std::string_view(*entry).find('=')));
  return names;
}

/// What is known without options.
RankClues clues_of_environment() {
  RankClues clues;
  clues.variable = variable;
  clues.setter = nearest_ancestor_without;
  clues.names = variable_names;
  return clues;
}

/// The launcher's failure, not a refusal of what the row asks for.
void require_launched_ranks(const RunOptions& options, const RankPlace& place) {
  if (!options.orders.launched_ranks || *options.orders.launched_ranks == place.world_size) return;
  throw run_error(
      fmt::format("--launcher was to start {} ranks, and this is one of {} from {}",
                  *options.orders.launched_ranks, place.world_size, name_of(place.source)),
      "use a launcher that ptbench knows (torchrun, mpirun, srun, or one that sets PTBENCH_RANK, "
      "PTBENCH_WORLD_SIZE and PTBENCH_ADDR), with {n} where it takes the number of ranks");
}

void require_possible_ranks(const RunOptions& options, const RankPlace& place) {
  require_launched_ranks(options, place);
  const bool counts = std::ranges::find(options.assignments, "nproc", &NamedAssignment::name) !=
                      options.assignments.end();
  if (counts)
    throw usage_error(fmt::format("--nproc {}: there are already {} ranks from {}", options.nproc,
                                  place.world_size, name_of(place.source)),
                      fmt::format("leave --nproc out, or {}", without(place.source)));
  const StrategyRow strategy = find_strategy(options.strategy);
  if (!strategy.several_ranks || strategy.one_process)
    throw usage_error(fmt::format("strategy '{}' is one process, and there are {} ranks from {}",
                                  strategy.name, place.world_size, name_of(place.source)),
                      fmt::format("use --strategy ddp, or {}", without(place.source)));
}

/// The options of that rank: one repetition, and files on rank 0 alone.
RunOptions options_of(const RunOptions& given, const RankPlace& place) {
  RunOptions options = given;
  options.place.rank = place.rank;
  options.nproc = place.world_size;
  options.repeats = 1;
  if (options.steps || options.epochs) options.repeats.reset();
  options.target_noise.reset();
  if (place.rank == 0) return options;
  options.outputs.clear();
  options.json = false;
  options.plan_file.reset();
  options.orders.keep_plan.reset();
  options.loss_log.reset();
  options.save_initial_weights.reset();
  options.save_final_weights.reset();
  return options;
}

/// What all ranks must have been started with.
std::vector<NamedAssignment> common_options(const RunOptions& options) {
  std::vector<NamedAssignment> common;
  std::ranges::copy_if(
      options.assignments, std::back_inserter(common),
      [](const NamedAssignment& assignment) { return !may_differ(scope_of(assignment.name)); });
  return common;
}

/// Whether ranks may be on several hosts, where their communicator reaches other hosts.
HostsOfRanks hosts_of(const RankPlace& place, const std::string& communicator) {
  if (!communicator_of_hosts(communicator, place)) {
    if (place.several_hosts) throw several_hosts_error(place);
    return HostsOfRanks::one;
  }
  if (!place.several_hosts) return HostsOfRanks::any;
  if (place.address.host.empty())
    throw usage_error(
        fmt::format("the {} ranks from {} are on several hosts, and nothing says where they meet",
                    place.world_size, name_of(place.source)),
        "give all of them PTBENCH_ADDR=host:port, with an address of rank 0's host and a free port "
        "(mpirun -x PTBENCH_ADDR=…)");
  return HostsOfRanks::several;
}

/// What is to carry the ranks' values, as far as it was said.
std::string communicator_asked_for(const RunOptions& options, const RankPlace& place) {
  const bool on_gpus = options.device.starts_with("cuda");
  if (!on_gpus || options.communicator != kAutomaticCommunicator) return options.communicator;
  return find_communicator(kAutomaticCommunicator, place.world_size, on_gpus).name;
}

OutsideRank ready(RunConfig config, SharedRegion region, PeerLinks links, const CoreShare& cores,
                  const Topology& topology) {
  config.options.orders.region = region.descriptor();
  OutsideRank result{.config = std::move(config),
                     .region = std::move(region),
                     .apart = {},
                     .links = std::move(links),
                     .all = topology};
  result.all.cores.resize(static_cast<std::size_t>(cores.cores));
  return result;
}

SharedRegion create_region(const RunConfig& config, const Welcome& welcome) {
  const Bytes bytes = bytes_per_rank_of(welcome.hosts, bytes_per_rank(config));
  return SharedRegion::create(std::ssize(welcome.hosts), bytes, welcome.cores.cores,
                              config.threads);
}

OutsideRank gather_ranks(const RankCard& card, const MeetingPoint& point, const RunOptions& options,
                         const RankPlace& place, const Topology& topology) {
  RankGathering gathering(card, point);
  gathering.gather();
  const Welcome welcome = gathering.welcome();
  try {
    RunConfig config = configure_run(with(welcome, options, place), topology);
    SharedRegion region = create_region(config, welcome);
    const bool apart = are_apart(welcome.hosts);
    const OpenDoor open = apart ? open_door(point) : OpenDoor();
    PeerLinks links = gathering.admit(region, open.door);
    OutsideRank rank =
        ready(std::move(config), std::move(region), std::move(links), welcome.cores, topology);
    if (apart) rank.apart = connect_to_ranks(open, rank.region, welcome, point, rank.links);
    if (apart) rank.apart->bytes_per_rank = bytes_per_rank(rank.config);
    return rank;
  } catch (const Error& error) {
    gathering.refuse(error);
    throw;
  }
}

/// Tells the other ranks what this one is refused.
RunConfig configure_admitted(const Admission& admission, const RunOptions& options,
                             const RankPlace& place, const Topology& topology) {
  try {
    return configure_run(with(admission.welcome, options, place), topology);
  } catch (const Error& error) {
    if (admission.region)
      admission.region->give_up(place.rank, error.what());
    else
      (void)send_message(admission.links.peers.front().socket, encode_refusal(error));
    throw;
  }
}

OutsideRank join(const RankCard& card, const MeetingPoint& point, const RunOptions& options,
                 const RankPlace& place, const Topology& topology) {
  Admission admission = join_ranks(card, point);
  RunConfig config = configure_admitted(admission, options, place, topology);
  const Welcome& welcome = admission.welcome;
  const bool apart = !admission.region;
  SharedRegion region = apart ? create_region(config, welcome) : *admission.region;
  OutsideRank rank = ready(std::move(config), std::move(region), std::move(admission.links),
                           welcome.cores, topology);
  if (apart) rank.apart = connect_to_rank_zero(rank.region, welcome, point, rank.links);
  if (apart) rank.apart->bytes_per_rank = bytes_per_rank(rank.config);
  return rank;
}

}  // namespace

RankCard card_of(const RankPlace& place, const Topology& topology,
                 std::vector<NamedAssignment> options) {
  RankCard card{.version = version_text(),
                .job = place.job,
                .host = host_name(),
                .rank = place.rank,
                .world_size = place.world_size,
                .local_rank = place.local_rank,
                .options = std::move(options)};
  for (const Core& core : topology.cores) card.cpus.push_back(core.cpu);
  std::ranges::sort(card.cpus);
  return card;
}

RankPlace find_place(const RunOptions& options) {
  RankClues clues = clues_of_environment();
  clues.rank = options.place.rank;
  clues.world_size = options.place.world_size;
  clues.local_rank = options.place.local_rank;
  return find_rank(clues);
}

RunOptions with(const Welcome& welcome, RunOptions options, const RankPlace& place) {
  options.core_share = welcome.cores;
  options.local_ranks = welcome.local_ranks;
  if (!are_apart(welcome.hosts)) return options;
  options.rank_hosts = welcome.hosts;
  if (options.device == "auto") options.device = "cpu";  // hosts may have unlike GPUs
  options.asked_communicator = options.communicator;
  options.communicator =
      communicator_between(welcome.hosts, communicator_asked_for(options, place), place);
  require_communicator_between_hosts(options.communicator);
  return options;
}

void tell(const RunConfig& config, const RankPlace& place, const RanksApart* apart) {
  const auto row =
      find_communicator(config.options.communicator, place.world_size, !config.device.is_cpu());
  const std::vector<std::string> here{host_name()};
  log_note(describe(place, apart == nullptr ? here : apart->hosts, row.name));
}

std::string communicator_between(const std::vector<std::string>& hosts, std::string_view asked,
                                 const RankPlace& place) {
  const bool from_open_mpi = place.source == RankSource::open_mpi;
  const bool can_have_leaders = follow_each_other(hosts);
  std::string name = communicator_between_hosts(asked, from_open_mpi, can_have_leaders)
                         .value_or(std::string(asked));
  const CommunicatorRow row = find_communicator(name, place.world_size);
  if (row.has_leaders && !can_have_leaders)
    throw usage_error(
        fmt::format("--communicator {}: the ranks of a host do not follow each other ({})", name,
                    printable(fmt::format("{}", fmt::join(hosts, ", ")))),
        fmt::format("use --communicator {}, or have the launcher fill one host after the other",
                    row.engine));
  return name;
}

Error several_hosts_error(const RankPlace& place) {
  return capability_error(
      fmt::format("the {} ranks from {} are on several hosts: several hosts need a communicator "
                  "between hosts",
                  place.world_size, name_of(place.source)),
      std::string(kRemedyForHosts));
}

std::optional<std::string> communicator_of_hosts(std::string_view name, const RankPlace& place) {
  return communicator_between_hosts(name, place.source == RankSource::open_mpi);
}

Bytes bytes_per_rank_of(const std::vector<std::string>& hosts, Bytes shared) {
  return are_apart(hosts) ? 1 : shared;
}

MeetingPoint meeting_point(const RankPlace& place, const std::string& communicator,
                           std::chrono::milliseconds timeout) {
  MeetingPoint point{.job = place.job,
                     .place = place.place,
                     .timeout = timeout,
                     .address = place.address,
                     .hosts = hosts_of(place, communicator)};
  if (place.one_host) point.address.port = 0;
  return point;
}

std::optional<RankPlace> place_among_ranks() {
  if (!find_launched_rank(clues_of_environment())) return std::nullopt;
  return find_place(RunOptions());
}

void refuse_outside_ranks(std::string_view command) {
  const auto place = find_launched_rank(clues_of_environment());
  if (!place) return;
  throw usage_error(
      fmt::format("ptbench {} starts its own ranks, and this process is rank {} of {} from {}",
                  command, place->rank, place->world_size, name_of(place->source)),
      fmt::format("start one process: {}", without(place->source)));
}

OutsideRank meet_ranks(const RunOptions& options, const RankPlace& place,
                       const Topology& topology) {
  require_possible_ranks(options, place);
  const RankCard card = card_of(place, topology, common_options(options));
  const MeetingPoint point =
      meeting_point(place, communicator_asked_for(options, place), options.timeout());
  const RunOptions own = options_of(options, place);
  if (place.rank != 0) return join(card, point, own, place, topology);
  OutsideRank rank = gather_ranks(card, point, own, place, topology);
  if (!options.orders.launched_ranks) tell(rank.config, place, rank.apart.get());
  return rank;
}

void warn_of_one_repetition(const OutsideRank& rank, const RankPlace& place, RunRecord& record) {
  const RunOptions& options = rank.config.options;
  if (options.steps || options.epochs || options.verify == VerifyMode::only) return;
  if (options.orders.launched_ranks) return;  // each of several
  record.warnings.push_back(
      {.code = "one-repetition",
       .message = fmt::format(
           "ranks from {} measure one repetition: it does not show how much processes differ",
           name_of(place.source)),
       .remedy = fmt::format("Start them several times, or use --nproc {} without them.",
                             place.world_size)});
}

}  // namespace ptbench
