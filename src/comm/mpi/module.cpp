// What the engine module libptbench_mpi.so exports; see src/device/module_loader.h.
#include <utility>

#include "src/comm/library/engine_interface.h"
#include "src/comm/library/library_communicator.h"
#include "src/comm/mpi/mpi_library.h"

namespace ptbench::over_mpi {
namespace {

/// MPI itself has no deadline: so nobody begins it before all are there.
std::unique_ptr<Communicator> make(EngineSetup setup) {
  setup.host->wait(setup.host->start_barrier(), setup.timeout);
  GroupLibraryMaker maker = library_maker(setup.rank, setup.region.world_size());
  return make_over_library("mpi", std::move(setup), std::move(maker));
}

constexpr EngineInterface kInterface{.make = make};

}  // namespace
}  // namespace ptbench::over_mpi

extern "C" __attribute__((visibility("default"))) const void* ptbench_module_interface(
    const char* name, unsigned abi) {
  return ptbench::engine_entry(ptbench::over_mpi::kInterface, name, abi);
}
