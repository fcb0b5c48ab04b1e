#include "src/ranks/rank_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/number.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

constexpr std::uint64_t kMostPort = 65535;
constexpr std::size_t kMostAddress = 512;
// Slurm's steps that nobody asked for (batch, extern, interactive) have ids from here on.
constexpr std::uint64_t kSpecialStep = 0xffff'fff0U;

/// The variables with which one kind of launcher tells a process its place.
struct Dialect {
  RankSource source;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_ranks;  ///< null: not told
  const char* mark;         ///< that nobody sets by hand; null: there is no launcher
};

// Where ranks of PTBENCH_* are, and those that Slurm counts no nodes for, they learn as they meet.
constexpr std::array kDialects{
    Dialect{RankSource::ptbench, "PTBENCH_RANK", "PTBENCH_WORLD_SIZE", "PTBENCH_LOCAL_RANK",
            nullptr, nullptr},
    Dialect{RankSource::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
            "TORCHELASTIC_RUN_ID"},
    Dialect{RankSource::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK"},
    Dialect{RankSource::hydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
            "MPI_LOCALRANKID"},
    Dialect{RankSource::slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr,
            "SLURM_PROCID"},
};

/// The environment, read strictly.
class Variables {
 public:
  explicit Variables(const RankClues& clues) : clues_(clues) {}

  /// An empty one is as good as none.
  [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
    auto value = clues_.variable(name);
    return value && !value->empty() ? std::move(value) : std::nullopt;
  }
  [[nodiscard]] bool has(const std::string& name) const { return text(name).has_value(); }

  [[nodiscard]] std::optional<std::uint64_t> number(const std::string& name) const {
    const auto value = text(name);
    return value ? parse_whole(*value) : std::nullopt;
  }

  /// In [least, most], or a usage error; empty where it is not set.
  [[nodiscard]] std::optional<Size> count(const std::string& name, std::uint64_t least,
                                          std::uint64_t most) const {
    const auto value = text(name);
    if (!value) return std::nullopt;
    const auto number = parse_whole(*value);
    if (!number || *number < least || *number > most)
      throw usage_error(fmt::format("{} is '{}': it takes a whole number from {} to {}", name,
                                    printable(*value), least, most),
                        fmt::format("correct it, or unset {}", name));
    return static_cast<Size>(*number);
  }

 private:
  const RankClues& clues_;
};

Error missing_beside(std::string_view missing, std::string_view given) {
  return usage_error(fmt::format("{} is set, and {} is not", given, missing),
                     fmt::format("set {} too, or unset {}", missing, given));
}

/// Whether the launcher of `dialect` started this process, or may have meant to.
bool speaks(const Dialect& dialect, const Variables& variables) {
  switch (dialect.source) {
    // Slurm and others set PMI_RANK too, without the rest.
    case RankSource::hydra: return variables.has("PMI_RANK") && variables.has("MPI_LOCALRANKID");
    case RankSource::slurm: {
      // In a batch script or an allocation's shell the same variables are set, for one process.
      const auto step = variables.number("SLURM_STEP_ID");
      const auto tasks = variables.number(
          variables.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
      return step && *step < kSpecialStep && tasks && *tasks > 1;
    }
    // LOCAL_RANK alone is other launchers' too.
    case RankSource::ptbench:
      return variables.has(dialect.rank) || variables.has(dialect.world_size) ||
             variables.has(dialect.local_rank);
    default: return variables.has(dialect.rank) || variables.has(dialect.world_size);
  }
}

/// The variable that counts the ranks of the same step as the rest: an allocation may have more.
std::string world_size_variable(const Dialect& dialect, const Variables& variables) {
  const bool step = dialect.source == RankSource::slurm && variables.has("SLURM_STEP_NUM_TASKS");
  return step ? "SLURM_STEP_NUM_TASKS" : dialect.world_size;
}

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

RankPlace place_in(const Dialect& dialect, const Variables& variables) {
  const std::string world_name = world_size_variable(dialect, variables);
  const auto world_size = variables.count(world_name, 1, kMostRanks);
  const auto rank = variables.count(dialect.rank, 0, kMostRanks - 1);
  const auto local_rank = variables.count(dialect.local_rank, 0, kMostRanks - 1);
  const std::string given = rank ? dialect.rank : world_size ? world_name : dialect.local_rank;
  if (!rank) throw missing_beside(dialect.rank, given);
  if (!world_size) throw missing_beside(world_name, given);
  RankPlace place{.source = dialect.source,
                  .rank = *rank,
                  .world_size = *world_size,
                  .local_rank = local_rank.value_or(*rank),
                  .several_hosts = false,
                  .one_host = false,
                  .job = {},
                  .place = {},
                  .address = {}};
  const auto local_ranks = dialect.local_ranks == nullptr
                               ? std::nullopt
                               : variables.count(dialect.local_ranks, 1, kMostRanks);
  const bool in_parts = local_ranks.value_or(*world_size) < *world_size ||
                        (dialect.source == RankSource::slurm &&
                         variables.number("SLURM_STEP_NUM_NODES").value_or(1) > 1);
  // On one host it is the rank.
  if (!local_rank && in_parts) throw missing_beside(dialect.local_rank, given);
  place = consistent(std::move(place), local_ranks, {dialect.rank, world_name, dialect.local_rank});
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

/// What the job's key was made from, where that is an address.
MeetingAddress address_in(const RankPlace& place, const Variables& variables) {
  if (const auto address = given_address(variables)) {
    const std::size_t colon = address->rfind(':');
    return {
        .variables = "PTBENCH_ADDR",
        .variable = "PTBENCH_ADDR",
        .host = bare_host(address->substr(0, colon)),
        .port = static_cast<std::uint16_t>(parse_whole(address->substr(colon + 1)).value_or(0))};
  }
  if (place.source == RankSource::torchrun)
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

/// "NAME value" of the first of `names` that is set.
std::optional<std::string> first_set(const Variables& variables,
                                     std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto value = variables.text(name)) return fmt::format("{} {}", name, *value);
  return std::nullopt;
}

/// What names the job, as its launcher says.
std::string launcher_job(const RankPlace& place, const Variables& variables) {
  std::string launcher = fmt::format("launcher process {}", place.launcher);
  switch (place.source) {
    case RankSource::torchrun: return "MASTER_ADDR:MASTER_PORT " + master_address(variables);
    case RankSource::open_mpi:
      return first_set(variables, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}).value_or(launcher);
    // What names a job of Slurm or Open MPI may be of the job that the launcher itself is part of.
    case RankSource::hydra: return launcher;
    case RankSource::slurm:
      return fmt::format("SLURM_JOB_ID.SLURM_STEP_ID {}.{}",
                         variables.text("SLURM_JOB_ID").value_or("0"),
                         variables.text("SLURM_STEP_ID").value_or("0"));
    default:
      throw usage_error("PTBENCH_ADDR is not set: the ranks would not find each other",
                        "set PTBENCH_ADDR to host:port, the same for all ranks of a run");
  }
}

}  // namespace

std::string_view name_of(RankSource source) {
  switch (source) {
    case RankSource::options: return "--rank";
    case RankSource::ptbench: return "PTBENCH_RANK";
    case RankSource::torchrun: return "torchrun";
    case RankSource::open_mpi: return "Open MPI";
    case RankSource::hydra: return "MPICH or Intel MPI";
    case RankSource::slurm: return "Slurm";
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
        kDialects, [&](const Dialect& dialect) { return speaks(dialect, variables); });
    if (spoken == kDialects.end()) return place;
    place = place_in(*spoken, variables);
    // Wrappers around a rank pass variables on; who set them is the launcher of all.
    if (spoken->mark != nullptr && variables.has(spoken->mark))
      place.launcher = clues.setter(spoken->mark);
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
  for (const Dialect& dialect : kDialects) {
    if (!speaks(dialect, variables)) continue;
    const auto rank = variables.number(dialect.rank);
    const auto world_size = variables.number(world_size_variable(dialect, variables));
    if (!rank || !world_size) continue;
    if (*world_size < 2 || *world_size > kMostRanks || *rank >= *world_size) return std::nullopt;
    RankPlace place;
    place.source = dialect.source;
    place.rank = static_cast<Size>(*rank);
    place.world_size = static_cast<Size>(*world_size);
    return place;
  }
  return std::nullopt;
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
    default: return fmt::format("start it without {}", name_of(source));
  }
}

}  // namespace ptbench
