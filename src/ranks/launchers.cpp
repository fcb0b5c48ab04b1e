#include "src/ranks/launchers.h"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "src/base/log.h"
#include "src/base/number.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

// Slurm's steps that nobody asked for (batch, extern, interactive) have ids from here on.
constexpr std::uint64_t kSpecialStep = 0xffff'fff0U;

// Where ranks of PTBENCH_* are, and those that their launcher counts no hosts for, they learn as
// they meet. Those that start others come after these: Slurm may start Flux's brokers, and sets
// PMI_RANK and, on a Cray, PALS_RANKID too.
constexpr std::array kLaunchers{
    // PMIx tells no size: whoever starts ranks does.
    Launcher{RankSource::pmix, "PMIX_RANK", "PTBENCH_WORLD_SIZE", "PTBENCH_LOCAL_RANK", nullptr,
             "PMIX_RANK", nullptr},
    Launcher{RankSource::ptbench, "PTBENCH_RANK", "PTBENCH_WORLD_SIZE", "PTBENCH_LOCAL_RANK",
             nullptr, nullptr, nullptr},
    Launcher{RankSource::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
             "TORCHELASTIC_RUN_ID", nullptr},
    Launcher{RankSource::open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK",
             nullptr},
    Launcher{RankSource::hydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
             "MPI_LOCALRANKID", nullptr},
    Launcher{RankSource::mvapich, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
             "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_RANK",
             nullptr},
    Launcher{RankSource::flux, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", nullptr,
             "FLUX_TASK_RANK", "FLUX_JOB_NNODES"},
    Launcher{RankSource::jsrun, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE",
             "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE", "JSM_NAMESPACE_RANK", nullptr},
    Launcher{RankSource::slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr,
             "SLURM_PROCID", "SLURM_STEP_NUM_NODES"},
    Launcher{RankSource::pals, "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PMI_LOCAL_SIZE",
             "PALS_RANKID", nullptr},
    Launcher{RankSource::pmi, "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE",
             "PMI_RANK", nullptr},
};

/// "NAME value" of the first of `names` that is set.
std::optional<std::string> first_set(const Variables& variables,
                                     std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto value = variables.text(name)) return fmt::format("{} {}", name, *value);
  return std::nullopt;
}

/// Of those variables, if they are numbers that make this process one of more than `used`.
std::optional<ClaimedRank> claim_of(const Variables& variables, const std::string& rank,
                                    const std::string& world_size, Size used) {
  const auto number = variables.number(rank);
  const auto ranks = variables.number(world_size);
  if (!number || !ranks || *ranks > kMostRanks || *number >= *ranks) return std::nullopt;
  if (*ranks <= static_cast<std::uint64_t>(used)) return std::nullopt;
  return ClaimedRank{.rank = rank,
                     .world_size = world_size,
                     .number = static_cast<Size>(*number),
                     .ranks = static_cast<Size>(*ranks)};
}

/// The claim of an unknown launcher of which `name` would be the world's size.
std::optional<ClaimedRank> claim_by_size(const Variables& variables, const std::string& name,
                                         Size used) {
  for (const std::string_view size : {"_SIZE", "_NRANKS", "_NPROCS", "_NTASKS"}) {
    if (!name.ends_with(size)) continue;
    const std::string stem = name.substr(0, name.size() - size.size());
    // "FOO_WORLD_SIZE" may go with "FOO_RANK" as well as with "FOO_WORLD_RANK".
    std::vector<std::string> stems{stem};
    if (stem.ends_with("_WORLD")) stems.push_back(stem.substr(0, stem.size() - 6));
    for (const std::string& beginning : stems)
      for (const std::string_view rank : {"_RANK", "_RANKID"})
        if (auto claim = claim_of(variables, fmt::format("{}{}", beginning, rank), name, used))
          return claim;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Variables::text(const std::string& name) const {
  auto value = clues_.variable(name);
  return value && !value->empty() ? std::move(value) : std::nullopt;
}

std::optional<std::uint64_t> Variables::number(const std::string& name) const {
  const auto value = text(name);
  return value ? parse_whole(*value) : std::nullopt;
}

std::optional<Size> Variables::count(const std::string& name, std::uint64_t least,
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

Error missing_beside(std::string_view missing, std::string_view given) {
  return usage_error(fmt::format("{} is set, and {} is not", given, missing),
                     fmt::format("set {} too, or unset {}", missing, given));
}

std::span<const Launcher> launchers() { return kLaunchers; }

bool speaks(const Launcher& launcher, const Variables& variables) {
  switch (launcher.source) {
    case RankSource::pmix:
      return variables.has("PMIX_RANK") && variables.has("PTBENCH_WORLD_SIZE") &&
             !variables.has("PTBENCH_RANK");
    // LOCAL_RANK alone is other launchers' too.
    case RankSource::ptbench:
      return variables.has(launcher.rank) || variables.has(launcher.world_size) ||
             variables.has(launcher.local_rank);
    // Slurm and others set PMI_RANK too, without the rest.
    case RankSource::hydra: return variables.has("PMI_RANK") && variables.has("MPI_LOCALRANKID");
    case RankSource::slurm: {
      // In a batch script or an allocation's shell the same variables are set, for one process.
      const auto step = variables.number("SLURM_STEP_ID");
      const auto tasks = variables.number(world_size_variable(launcher, variables));
      return step && *step < kSpecialStep && tasks && *tasks > 1;
    }
    // A size alone is what is left of a job's variables in a script that it runs.
    case RankSource::flux:
    case RankSource::jsrun:
    case RankSource::pals: return variables.has(launcher.rank);
    case RankSource::pmi: return variables.has("PMI_RANK") && variables.has("PMI_SIZE");
    default: return variables.has(launcher.rank) || variables.has(launcher.world_size);
  }
}

std::string world_size_variable(const Launcher& launcher, const Variables& variables) {
  if (launcher.source == RankSource::slurm && variables.has("SLURM_STEP_NUM_TASKS"))
    return "SLURM_STEP_NUM_TASKS";
  if (launcher.source == RankSource::pals && variables.has("PALS_NRANKS")) return "PALS_NRANKS";
  return launcher.world_size;
}

std::optional<std::string> job_named_by(RankSource source, const Variables& variables) {
  switch (source) {
    case RankSource::open_mpi:
      return first_set(variables, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
    case RankSource::pmix:
    case RankSource::jsrun: return first_set(variables, {"PMIX_NAMESPACE"});
    case RankSource::flux: return first_set(variables, {"FLUX_JOB_ID"});
    case RankSource::pals: return first_set(variables, {"PALS_APID"});
    case RankSource::slurm:
      return fmt::format("SLURM_JOB_ID.SLURM_STEP_ID {}.{}",
                         variables.text("SLURM_JOB_ID").value_or("0"),
                         variables.text("SLURM_STEP_ID").value_or("0"));
    // What names a job of Slurm or Open MPI may be of the job that the launcher itself is part of.
    default: return std::nullopt;
  }
}

std::optional<ClaimedRank> find_more_ranks(const RankClues& clues, RankSource source, Size used) {
  const Variables variables(clues);
  for (const Launcher& launcher : kLaunchers) {
    // Other launchers may start their daemons by srun, one a node: ranks inherit what Slurm says of
    // that step, which counts daemons.
    if (launcher.source == RankSource::slurm && source != RankSource::single) continue;
    if (!speaks(launcher, variables)) continue;
    if (auto claim =
            claim_of(variables, launcher.rank, world_size_variable(launcher, variables), used))
      return claim;
  }
  if (!clues.names) return std::nullopt;
  for (const std::string& name : clues.names()) {
    // What Slurm's say depends on the step.
    if (name.starts_with("SLURM_")) continue;
    if (auto claim = claim_by_size(variables, name, used)) return claim;
  }
  return std::nullopt;
}

}  // namespace ptbench
