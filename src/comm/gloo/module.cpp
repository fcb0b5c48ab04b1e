// What the engine module libptbench_gloo.so exports; see src/device/module_loader.h.
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "src/comm/engine_interface.h"
#include "src/comm/gloo/gloo_library.h"
#include "src/comm/library_communicator.h"

namespace ptbench::over_gloo {
namespace {

std::unique_ptr<Communicator> make(EngineSetup setup) {
  std::vector<Size> everyone(static_cast<std::size_t>(setup.region.world_size()));
  std::iota(everyone.begin(), everyone.end(), Size{0});
  auto rank = std::make_shared<LibraryRank>("gloo", setup.region, setup.rank, setup.timeout,
                                            std::move(setup.host),
                                            library_maker(setup.interface, setup.timeout));
  rank->is_failed = true;  // where it cannot be made
  auto made = std::make_unique<LibraryCommunicator>(rank, nullptr, std::move(everyone));
  rank->is_failed = false;
  return made;
}

constexpr EngineInterface kInterface{.make = make};
constexpr unsigned kVersion = kEngineAbi;

const void* find_interface(std::string_view name, unsigned abi) {
  if (name != kEngineInterface) return nullptr;
  if (abi == 0) return &kVersion;
  return abi == kVersion ? &kInterface : nullptr;
}

}  // namespace
}  // namespace ptbench::over_gloo

extern "C" __attribute__((visibility("default"))) const void* ptbench_module_interface(
    const char* name, unsigned abi) {
  return ptbench::over_gloo::find_interface(name, abi);
}
