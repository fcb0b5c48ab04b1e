// What the engine module libptbench_nccl.so exports; see src/device/module_loader.h.
#include <nccl.h>

#include <memory>
#include <string_view>
#include <utility>

#include "src/comm/nccl/nccl_communicator.h"
#include "src/comm/nccl_interface.h"

namespace ptbench::nccl {
namespace {

NcclVersions versions() {
  int found = 0;
  if (ncclGetVersion(&found) != ncclSuccess) found = 0;
  return {.built = NCCL_VERSION_CODE, .found = found};
}

std::unique_ptr<Communicator> make(NcclSetup setup) { return make_world(std::move(setup)); }

constexpr NcclInterface kNccl{.versions = versions, .make = make};
constexpr unsigned kVersion = kNcclAbi;

const void* find_interface(std::string_view name, unsigned abi) {
  if (name != kNcclInterface) return nullptr;
  if (abi == 0) return &kVersion;
  return abi == kVersion ? &kNccl : nullptr;
}

}  // namespace
}  // namespace ptbench::nccl

extern "C" __attribute__((visibility("default"))) const void* ptbench_module_interface(
    const char* name, unsigned abi) {
  return ptbench::nccl::find_interface(name, abi);
}
