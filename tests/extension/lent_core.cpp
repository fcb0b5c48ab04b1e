#include "kernels/cpu/cpu_backend.h"
#include "src/device/cpu_device.h"
#include "tests/extension/extensions.h"

namespace ptbench::testing {
namespace {

Site open(const SiteChoice& choice) {
  auto device = std::make_unique<CpuDevice>(choice.topology, 1, choice.first_core);
  auto backend = std::make_unique<CpuBackend>(*device);
  return {std::move(device), std::move(backend)};
}

}  // namespace

SiteRow lent_core() { return {.device = "lent", .open = open}; }

}  // namespace ptbench::testing
