#include "src/session/outside_ranks.h"

#include <fmt/format.h>

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
#include "src/config/run_options.h"
#include "src/config/version.h"
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

void require_launched_ranks(const RunOptions& options, const RankPlace& place) {
  if (!options.orders.launched_ranks || *options.orders.launched_ranks == place.world_size) return;
  throw usage_error(
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
    throw usage_error(fmt::format("--nproc {}: there are {} ranks from {} already", options.nproc,
                                  place.world_size, name_of(place.source)),
                      fmt::format("leave --nproc out, or {}", without(place.source)));
  const StrategyRow strategy = find_strategy(options.strategy);
  if (!strategy.several_ranks || strategy.one_process)
    throw usage_error(fmt::format("strategy '{}' is one process, and there are {} ranks from {}",
                                  strategy.name, place.world_size, name_of(place.source)),
                      fmt::format("use --strategy ddp, or {}", without(place.source)));
  if (place.several_hosts) throw several_hosts_error(place);
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

MeetingPoint meeting_point(const RunOptions& options, const RankPlace& place) {
  return {.job = place.job,
          .place = place.place,
          .timeout = options.timeout(),
          .address = place.address};
}

OutsideRank ready(RunConfig config, SharedRegion region, PeerLinks links, const CoreShare& cores,
                  const Topology& topology) {
  config.options.orders.region = region.descriptor();
  OutsideRank result{.config = std::move(config),
                     .region = std::move(region),
                     .links = std::move(links),
                     .all = topology};
  result.all.cores.resize(static_cast<std::size_t>(cores.cores));
  return result;
}

OutsideRank gather_ranks(const RankCard& card, const MeetingPoint& point, RunOptions options,
                         const Topology& topology) {
  RankGathering gathering(card, point);
  gathering.gather();
  const CoreShare cores = gathering.cores();
  options.core_share = cores;
  options.local_ranks = gathering.local_ranks();
  try {
    RunConfig config = configure_run(options, topology);
    SharedRegion region =
        SharedRegion::create(card.world_size, bytes_per_rank(config), cores.cores, config.threads);
    PeerLinks links = gathering.admit(region);
    return ready(std::move(config), std::move(region), std::move(links), cores, topology);
  } catch (const Error& error) {
    gathering.refuse(error);
    throw;
  }
}

OutsideRank join(const RankCard& card, const MeetingPoint& point, RunOptions options,
                 const Topology& topology) {
  Admission admission = join_ranks(card, point);
  options.core_share = admission.cores;
  options.local_ranks = std::move(admission.local_ranks);
  try {
    return ready(configure_run(options, topology), admission.region, std::move(admission.links),
                 admission.cores, topology);
  } catch (const Error& error) {
    admission.region.give_up(card.rank, error.what());
    throw;
  }
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
                .cpus = {},
                .options = std::move(options)};
  for (const Core& core : topology.cores) card.cpus.push_back(core.cpu);
  std::ranges::sort(card.cpus);
  return card;
}

RankPlace find_place(const RunOptions& options) {
  return find_rank({.rank = options.place.rank,
                    .world_size = options.place.world_size,
                    .local_rank = options.place.local_rank,
                    .variable = variable,
                    .setter = nearest_ancestor_without});
}

void tell(const RunConfig& config, const RankPlace& place) {
  log_note(describe(
      place, host_name(),
      find_communicator(config.options.communicator, place.world_size, !config.device.is_cpu())
          .name));
}

Error several_hosts_error(const RankPlace& place) {
  return capability_error(
      fmt::format("the {} ranks from {} are on several hosts: several hosts need a communicator "
                  "between hosts, which this build does not have",
                  place.world_size, name_of(place.source)),
      "start all ranks on one host; where they are, set PTBENCH_HOST_ID to one name for all");
}

std::optional<RankPlace> place_among_ranks() {
  RankClues clues;
  clues.variable = variable;
  if (!find_launched_rank(clues)) return std::nullopt;
  return find_place(RunOptions());
}

void refuse_outside_ranks(std::string_view command) {
  RankClues clues;
  clues.variable = variable;
  const auto place = find_launched_rank(clues);
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
  const MeetingPoint point = meeting_point(options, place);
  const RunOptions own = options_of(options, place);
  if (place.rank != 0) return join(card, point, own, topology);
  OutsideRank rank = gather_ranks(card, point, own, topology);
  if (!options.orders.launched_ranks) tell(rank.config, place);
  return rank;
}

void warn_of_one_repetition(const OutsideRank& rank, const RankPlace& place, RunRecord& record) {
  const RunOptions& options = rank.config.options;
  if (options.steps || options.epochs || options.verify == VerifyMode::only) return;
  if (options.orders.launched_ranks) return;  // each of several
  record.warnings.push_back(
      {.code = "one-repetition",
       .message = fmt::format("ranks from {} measure one repetition: nothing is known of how much "
                              "processes differ",
                              name_of(place.source)),
       .remedy = fmt::format("Start them several times, or use --nproc {} without them.",
                             place.world_size)});
}

}  // namespace ptbench
