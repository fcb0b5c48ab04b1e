#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/ranks/meeting_address.h"

namespace ptbench {

/// Who said which rank this process is, in the order in which they are asked.
enum class RankSource : std::uint8_t {
  options,   ///< --rank and --world-size
  ptbench,   ///< PTBENCH_RANK and PTBENCH_WORLD_SIZE
  torchrun,  ///< RANK, WORLD_SIZE and LOCAL_RANK, as PyTorch's launchers set them
  open_mpi,  ///< OMPI_COMM_WORLD_*
  hydra,     ///< MPICH and Intel MPI: PMI_RANK with MPI_LOCALRANKID
  mvapich,   ///< MV2_COMM_WORLD_*
  flux,      ///< FLUX_TASK_RANK
  jsrun,     ///< LSF's: JSM_NAMESPACE_*
  slurm,     ///< a step of several tasks
  pals,      ///< mpiexec of HPE Cray: PALS_RANKID
  pmi,       ///< PMI_RANK and PMI_SIZE, of whatever launcher
  pmix,      ///< PMIX_RANK, as prterun sets it, with PTBENCH_WORLD_SIZE
  unknown,   ///< a launcher that ptbench does not know, which says that there are several ranks
  single,    ///< nobody: it is the run
};

/// As messages call it: "torchrun".
[[nodiscard]] std::string_view name_of(RankSource source);

/// What is known of this process before it has met the other ranks.
struct RankClues {
  // The options, where they were given.
  std::optional<Size> rank;
  std::optional<Size> world_size;
  std::optional<Size> local_rank;
  /// A variable of the environment; empty where it is not set.
  std::function<std::optional<std::string>(const std::string&)> variable;
  /// The process that set a variable for this one and the other ranks of this host: what these have
  /// in common where their launcher names no job.
  std::function<int(const std::string&)> setter;
  /// The names of all variables; null: those of launchers that ptbench does not know are not seen.
  std::function<std::vector<std::string>()> names;
};

/// Which rank of which job this process is.
struct RankPlace {
  RankSource source = RankSource::single;
  Size rank = 0;
  Size world_size = 1;
  Size local_rank = 0;         ///< among those of this host, or of those that PTBENCH_HOST_ID joins
  bool several_hosts = false;  ///< as far as the source says; PTBENCH_HOST_ID hides it
  bool one_host = false;       ///< the source says that all ranks are on this one
  std::string job;             ///< the same for all ranks of the job; empty for a world of one
  std::string place;       ///< what `job` comes from, for messages: "PTBENCH_ADDR localhost:29500"
  MeetingAddress address;  ///< the same in its parts, where it is one
  int launcher = 0;        ///< process that started this host's ranks; 0: nobody's launcher
};

/// Asks the options, then the environment. Throws a usage error that names the variable where one
/// is missing beside others, is no number in its range, or contradicts another; and where
/// variables, of any launcher, say that there are more ranks than the place that was found is one
/// of.
[[nodiscard]] RankPlace find_rank(const RankClues& clues);

/// Whether the environment makes this process one of several ranks, for who is no rank of a run:
/// source, rank and world size, no more. Empty also where variables are missing or make no sense,
/// which is the business of ranks; a usage error where there are ranks and nobody says how many.
[[nodiscard]] std::optional<RankPlace> find_launched_rank(const RankClues& clues);

/// "ranks from torchrun: 2 on 1 host (vm), communicator shm"; for rank 0 to say, once they have
/// met. `hosts`: by rank, or each once.
[[nodiscard]] std::string describe(const RankPlace& place, const std::vector<std::string>& hosts,
                                   std::string_view communicator);

/// How to start one process instead, after "or": "start it without torchrun".
[[nodiscard]] std::string without(RankSource source);

}  // namespace ptbench
