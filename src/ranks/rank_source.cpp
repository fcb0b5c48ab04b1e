#include "src/ranks/rank_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/number.h"
#include "src/ranks/launchers.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

constexpr std::uint64_t kMostPort = 65535;
constexpr std::size_t kMostAddress = 512;
/// What the name of a job begins with that is known by where its ranks meet.
constexpr std::string_view kMasterJob = "MASTER_ADDR:MASTER_PORT ";

/// Checked against each other; `names` are what they are called, rank first.
RankPlace consistent(RankPlace place, std::optional<Size> local_ranks,
                     const std::array<std::string, 3>& names) {
  const auto& [rank, world_size, local_rank] = names;
  if (place.rank >= place.world_size)
    throw usage_error(fmt::format("{} {} with {} {}: there is no such rank", rank, place.rank,
                                  world_size, place.world_size),
                      fmt::format("give {} from 0 to {}", rank, place.world_size - 1));
  const Size here = local_ranks.value_or(place.world_size);
  if (here > place.world_size)
    throw usage_error(fmt::format("{} ranks are on this host, of {} {} in all", here, world_size,
                                  place.world_size),
                      fmt::format("correct {}", world_size));
  if (place.local_rank >= here)
    throw usage_error(fmt::format("{} {}, of {} ranks on this host: there is no such rank",
                                  local_rank, place.local_rank, here),
                      fmt::format("give {} from 0 to {}", local_rank, here - 1));
  return place;
}

RankPlace place_in(const Launcher& launcher, const Variables& variables) {
  const std::string world_name = world_size_variable(launcher, variables);
  const auto world_size = variables.count(world_name, 1, kMostRanks);
  const auto rank = variables.count(launcher.rank, 0, kMostRanks - 1);
  const auto local_rank = variables.count(launcher.local_rank, 0, kMostRanks - 1);
  const std::string given = rank ? launcher.rank : world_size ? world_name : launcher.local_rank;
  if (!rank) throw missing_beside(launcher.rank, given);
  if (!world_size) throw missing_beside(world_name, given);
  RankPlace place{.source = launcher.source,
                  .rank = *rank,
                  .world_size = *world_size,
                  .local_rank = local_rank.value_or(*rank),
                  .job = {},
                  .address = {}};
  const auto local_ranks = launcher.local_ranks == nullptr
                               ? std::nullopt
                               : variables.count(launcher.local_ranks, 1, kMostRanks);
  const bool in_parts =
      local_ranks.value_or(*world_size) < *world_size ||
      (launcher.hosts != nullptr && variables.number(launcher.hosts).value_or(1) > 1);
  // On one host it is the rank.
  if (!local_rank && in_parts) throw missing_beside(launcher.local_rank, given);
  place =
      consistent(std::move(place), local_ranks, {launcher.rank, world_name, launcher.local_rank});
  const bool are_joined = variables.has("PTBENCH_HOST_ID");
  place.several_hosts = in_parts && !are_joined;
  place.one_host = !in_parts && local_ranks.has_value();
  if (are_joined) place.local_rank = place.rank;  // each of the parts may count from 0
  return place;
}

std::optional<RankPlace> place_in_options(const RankClues& clues) {
  if (!clues.rank && !clues.world_size && !clues.local_rank) return std::nullopt;
  const std::string given = clues.rank         ? "--rank"
                            : clues.world_size ? "--world-size"
                                               : "--local-rank";
  if (!clues.rank || !clues.world_size)
    throw usage_error(fmt::format("{} needs {}", given, clues.rank ? "--world-size" : "--rank"),
                      "give --rank R --world-size N, or leave both out");
  RankPlace place;
  place.source = RankSource::options;
  place.rank = *clues.rank;
  place.world_size = *clues.world_size;
  place.local_rank = clues.local_rank.value_or(place.rank);
  return consistent(std::move(place), std::nullopt, {"--rank", "--world-size", "--local-rank"});
}

/// "host:port" of PTBENCH_ADDR, if it is set.
std::optional<std::string> given_address(const Variables& variables) {
  auto address = variables.text("PTBENCH_ADDR");
  if (!address) return std::nullopt;
  const std::size_t colon = address->rfind(':');
  const auto port =
      colon == std::string::npos ? std::nullopt : parse_whole(address->substr(colon + 1));
  const bool plain =
      std::ranges::all_of(*address, [](char letter) { return letter > ' ' && letter != '\x7F'; });
  if (!port || *port < 1 || *port > kMostPort || colon == 0 || !plain ||
      address->size() > kMostAddress)
    throw usage_error(fmt::format("PTBENCH_ADDR is '{}', not host:port with a port from 1 to {}",
                                  printable(*address), kMostPort),
                      "set it to localhost:29500, say, for all ranks");
  return address;
}

/// Where the ranks of a torchrun meet, the same for all of them.
std::string master_address(const Variables& variables) {
  const auto host = variables.text("MASTER_ADDR");
  const auto port = variables.count("MASTER_PORT", 0, kMostPort);
  if (!host) throw missing_beside("MASTER_ADDR", "WORLD_SIZE");
  if (!port) throw missing_beside("MASTER_PORT", "WORLD_SIZE");
  return fmt::format("{}:{}", *host, *port);
}

/// Where rank 0 of a torchrun listens for other hosts. torchrun's agent may listen at MASTER_PORT.
std::uint16_t port_beside_agent(const Variables& variables) {
  const auto port = static_cast<std::uint16_t>(variables.number("MASTER_PORT").value_or(0));
  const bool is_taken = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return is_taken && port < kMostPort ? port + 1 : port;
}

/// Without the brackets in which an address of IPv6 stands before a port.
std::string bare_host(std::string_view host) {
  const bool is_bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  return std::string(is_bracketed ? host.substr(1, host.size() - 2) : host);
}

/// Whether variables say where ranks of any launcher meet.
bool has_master(const Variables& variables) {
  return variables.has("MASTER_ADDR") && variables.has("MASTER_PORT");
}

/// Where the ranks meet, if their variables say so: all that torchrun starts, and those of other
/// launchers that are on several hosts, or whose job is known by that place.
MeetingAddress address_in(const RankPlace& place, const Variables& variables) {
  if (const auto address = given_address(variables)) {
    const std::size_t colon = address->rfind(':');
    return {
        .variables = "PTBENCH_ADDR",
        .variable = "PTBENCH_ADDR",
        .host = bare_host(address->substr(0, colon)),
        .port = static_cast<std::uint16_t>(parse_whole(address->substr(colon + 1)).value_or(0))};
  }
  const bool from_master = place.several_hosts || place.job.starts_with(kMasterJob);
  if (from_master && has_master(variables))
    return {.variables = "MASTER_ADDR and MASTER_PORT",
            .variable = "MASTER_ADDR",
            .host = bare_host(variables.text("MASTER_ADDR").value_or("")),
            .port = port_beside_agent(variables)};
  return {};
}

/// What a job's key ends with, where its ranks have a token; no message shows it.
std::string secret_in(const Variables& variables) {
  const auto token = variables.text("PTBENCH_TOKEN");
  if (!token) return {};
  if (token->size() > kMostAddress)
    throw usage_error(fmt::format("PTBENCH_TOKEN has {} bytes", token->size()),
                      fmt::format("give it {} at most, the same for all ranks", kMostAddress));
  return " token " + *token;
}

/// What names the job of ranks that have no PTBENCH_ADDR.
std::string launcher_job(const RankPlace& place, const Variables& variables) {
  if (place.source == RankSource::options || place.source == RankSource::ptbench)
    throw usage_error("PTBENCH_ADDR is not set: the ranks would not find each other",
                      "set PTBENCH_ADDR to host:port, the same for all ranks of a run");
  const auto job = job_named_by(place.source, variables);
  if (job) return *job;
  const bool names_none = place.source == RankSource::hydra;
  if (place.source == RankSource::torchrun || (!names_none && has_master(variables)))
    return std::string(kMasterJob) + master_address(variables);
  return fmt::format("launcher process {}", place.launcher);
}

/// PMIx alone gives each process a rank, and does not say of how many; one of Slurm's steps of one
/// task has it too.
void require_number_of_ranks(const Variables& variables) {
  if (!variables.has("PMIX_RANK") || variables.number("SLURM_STEP_NUM_TASKS") == 1) return;
  throw usage_error(
      "PMIX_RANK says that a launcher started this process as a rank, and nothing says how many "
      "ranks there are",
      "set PTBENCH_WORLD_SIZE to their number (prterun -x PTBENCH_WORLD_SIZE=2), or unset "
      "PMIX_RANK "
      "if each process is to be a run of its own");
}

/// Where each of several processes would be a run of its own, they would all write the same files.
void refuse_more_ranks(const RankClues& clues, const RankPlace& place) {
  if (place.source == RankSource::options || place.source == RankSource::ptbench) return;
  const auto claim = find_more_ranks(clues, place.source, place.world_size);
  if (!claim) return;
  throw usage_error(
      fmt::format(
          "{} {} and {} {} say that a launcher started {} processes, and this run would use "
          "{} of them",
          claim->rank, claim->number, claim->world_size, claim->ranks, claim->ranks,
          place.world_size),
      fmt::format(
          "set PTBENCH_RANK, PTBENCH_WORLD_SIZE and PTBENCH_ADDR=host:port for each process "
          "to make one run of them, or unset {} if each is to be a run of its own",
          claim->world_size));
}

}  // namespace

std::string_view name_of(RankSource source) {
  switch (source) {
    case RankSource::options: return "--rank";
    case RankSource::ptbench: return "PTBENCH_RANK";
    case RankSource::torchrun: return "torchrun";
    case RankSource::open_mpi: return "Open MPI";
    case RankSource::hydra: return "MPICH or Intel MPI";
    case RankSource::mvapich: return "MVAPICH2";
    case RankSource::flux: return "Flux";
    case RankSource::jsrun: return "jsrun";
    case RankSource::slurm: return "Slurm";
    case RankSource::pals: return "PALS";
    case RankSource::pmi: return "PMI";
    case RankSource::pmix: return "PMIx";
    case RankSource::unknown: return "a launcher that ptbench does not know";
    case RankSource::single: return "nobody";
  }
  return "unknown";
}

RankPlace find_rank(const RankClues& clues) {
  const Variables variables(clues);
  RankPlace place;
  if (const auto given = place_in_options(clues)) {
    place = *given;
  } else {
    const auto spoken = std::ranges::find_if(
        launchers(), [&](const Launcher& launcher) { return speaks(launcher, variables); });
    if (spoken == launchers().end()) require_number_of_ranks(variables);
    if (spoken != launchers().end()) {
      place = place_in(*spoken, variables);
      // Wrappers around a rank pass variables on; who set them is the launcher of all.
      if (spoken->mark != nullptr && variables.has(spoken->mark))
        place.launcher = clues.setter(spoken->mark);
    }
    refuse_more_ranks(clues, place);
  }
  if (place.world_size == 1) return place;
  const auto address = given_address(variables);
  place.job = address ? "PTBENCH_ADDR " + *address : launcher_job(place, variables);
  place.place = printable(place.job);
  place.job += secret_in(variables);
  place.address = address_in(place, variables);
  return place;
}

std::optional<RankPlace> find_launched_rank(const RankClues& clues) {
  const Variables variables(clues);
  for (const Launcher& launcher : launchers()) {
    if (!speaks(launcher, variables)) continue;
    const auto rank = variables.number(launcher.rank);
    const auto world_size = variables.number(world_size_variable(launcher, variables));
    if (!rank || !world_size) continue;
    if (*world_size < 2 || *world_size > kMostRanks || *rank >= *world_size) return std::nullopt;
    RankPlace place;
    place.source = launcher.source;
    place.rank = static_cast<Size>(*rank);
    place.world_size = static_cast<Size>(*world_size);
    return place;
  }
  require_number_of_ranks(variables);
  const auto claim = find_more_ranks(clues, RankSource::single, 1);
  if (!claim) return std::nullopt;
  RankPlace place;
  place.source = RankSource::unknown;
  place.rank = claim->number;
  place.world_size = claim->ranks;
  return place;
}

std::string describe(const RankPlace& place, const std::vector<std::string>& hosts,
                     std::string_view communicator) {
  std::vector<std::string> different;
  for (const std::string& host : hosts)
    if (std::ranges::find(different, printable(host)) == different.end())
      different.push_back(printable(host));
  return fmt::format("ranks from {}: {} on {} host{} ({}), communicator {}", name_of(place.source),
                     place.world_size, different.size(), different.size() == 1 ? "" : "s",
                     fmt::join(different, ", "), communicator);
}

std::string without(RankSource source) {
  switch (source) {
    case RankSource::options: return "leave --rank and --world-size out";
    case RankSource::ptbench: return "unset PTBENCH_RANK and PTBENCH_WORLD_SIZE";
    case RankSource::torchrun: return "start it without torchrun (or unset RANK and WORLD_SIZE)";
    case RankSource::unknown: return "start it without the launcher";
    default: return fmt::format("start it without {}", name_of(source));
  }
}

}  // namespace ptbench
