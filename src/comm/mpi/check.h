#pragma once

#include <mpi.h>

#include <source_location>

namespace ptbench::over_mpi {

/// Throws a run error that names `call`, what MPI says of it and the place in the source, unless
/// `result` is success.
void check(int result, const char* call,
           std::source_location where = std::source_location::current());

/// The same for destructors: logs instead of throwing.
void note(int result, const char* call,
          std::source_location where = std::source_location::current()) noexcept;

}  // namespace ptbench::over_mpi

// Every call of MPI stands in one of these.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function does not see the text of its argument.
#define PTBENCH_MPI(call) ::ptbench::over_mpi::check((call), #call)
#define PTBENCH_MPI_NOTE(call) ::ptbench::over_mpi::note((call), #call)
// NOLINTEND(cppcoreguidelines-macro-usage)
