#include "tests/support/devices.h"

#include <fmt/format.h>

#include "src/device/cpu_device.h"
#include "src/device/host_device.h"
#include "tests/support/deferred_device.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {

std::vector<DeviceFactory> device_factories() {
  std::vector<DeviceFactory> all;
  if (const auto tested = tested_device()) {
    all.push_back({.name = *tested, .with_device = [](const auto& check) {
                     const Site site = open_tested_site();
                     check(*site.device);
                   }});
    return all;
  }
  all.push_back({.name = "host", .with_device = [](const auto& check) {
                   HostDevice device;
                   check(device);
                 }});
  for (const int threads : {1, 2, 3})
    all.push_back({.name = fmt::format("cpu, threads: {}", threads),
                   .with_device = [threads](const auto& check) {
                     CpuDevice device(discover_topology(), threads);
                     check(device);
                   }});
  for (const Eagerness eagerness : kEveryEagerness)
    all.push_back({.name = fmt::format("deferred, order {}", static_cast<int>(eagerness)),
                   .with_device = [eagerness](const auto& check) {
                     DeferredWorld world(eagerness);
                     DeferredDevice device(world, {.topology = discover_topology(), .threads = 2});
                     check(device);
                   }});
  return all;
}

}  // namespace ptbench::testing
