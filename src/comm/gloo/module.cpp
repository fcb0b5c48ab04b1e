// What the engine module libptbench_gloo.so exports; see src/device/module_loader.h.
#include <utility>

#include "src/comm/gloo/gloo_library.h"
#include "src/comm/library/engine_interface.h"
#include "src/comm/library/library_communicator.h"

namespace ptbench::over_gloo {
namespace {

constexpr EngineInterface kInterface{.make = [](EngineSetup setup) {
  GroupLibraryMaker maker = library_maker(setup.interface, setup.address, setup.timeout);
  return make_over_library("gloo", std::move(setup), std::move(maker));
}};

}  // namespace
}  // namespace ptbench::over_gloo

extern "C" __attribute__((visibility("default"))) const void* ptbench_module_interface(
    const char* name, unsigned abi) {
  return ptbench::engine_entry(ptbench::over_gloo::kInterface, name, abi);
}
