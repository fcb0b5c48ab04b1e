#include "tests/support/tested_device.h"

#include <cstdlib>

#include "kernels/cuda_module.h"
#include "src/base/error.h"

namespace ptbench::testing {

std::optional<std::string> tested_device() {
  const char* device = std::getenv("PTBENCH_TEST_DEVICE");  // NOLINT(concurrency-mt-unsafe)
  if (device == nullptr || *device == '\0') return std::nullopt;
  return device;
}

Site open_tested_site() {
  const std::optional<std::string> device = tested_device();
  ensure(device.has_value(), "PTBENCH_TEST_DEVICE names a device");
  return open_cuda_site(*device);
}

Site open_cuda_site(const std::string& device) {
  return CudaModule(device, PTBENCH_BUILT_MODULES).open();
}

}  // namespace ptbench::testing
