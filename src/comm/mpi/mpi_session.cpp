#include "src/comm/mpi/mpi_session.h"

#include <fmt/format.h>

#include <cstdlib>

#include "src/base/error.h"
#include "src/comm/mpi/check.h"

namespace ptbench::over_mpi {
namespace {

/// Without it MPI would begin a world of one, or end the process.
void require_launcher(Size ranks) {
  if (std::getenv("PMIX_RANK") != nullptr) return;  // NOLINT(concurrency-mt-unsafe): nobody writes
  throw usage_error("--communicator mpi: Open MPI's launcher did not start this rank",
                    fmt::format("start the ranks with it: mpirun -n {} ptbench run …", ranks));
}

}  // namespace

MpiSession::MpiSession(Size rank, Size ranks) {
  require_launcher(ranks);
  int is_over = 0;
  PTBENCH_MPI(MPI_Finalized(&is_over));
  ensure(is_over == 0, "a process begins MPI once");
  int threads = MPI_THREAD_SINGLE;
  PTBENCH_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads));
  PTBENCH_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int own = 0;
  int all = 0;
  PTBENCH_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &own));
  PTBENCH_MPI(MPI_Comm_size(MPI_COMM_WORLD, &all));
  if (own != rank || all != ranks)
    throw usage_error(
        fmt::format(
            "--communicator mpi: to MPI this is rank {} of {}, but to ptbench rank {} of {}", own,
            all, rank, ranks),
        "start all ranks with one mpirun, and none by hand");
  if (threads < MPI_THREAD_MULTIPLE)
    throw capability_error(
        "--communicator mpi: this Open MPI was built without support for several threads",
        "use an Open MPI that has it, or --communicator shm");
  is_broken_ = false;
}

MpiSession::~MpiSession() {
  if (!is_broken_) PTBENCH_MPI_NOTE(MPI_Finalize());
}

}  // namespace ptbench::over_mpi
