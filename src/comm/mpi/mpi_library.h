#pragma once

#include "src/comm/library/group_library.h"

namespace ptbench::over_mpi {

/// Begins MPI for rank `rank` of `ranks`, all of whom call it at once, and makes groups of them.
/// What it makes does not outlive it; with it MPI ends. Throws as MpiSession does.
[[nodiscard]] GroupLibraryMaker library_maker(Size rank, Size ranks);

}  // namespace ptbench::over_mpi
