#include "src/comm/network_interfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "src/base/error.h"

namespace ptbench {

std::vector<std::string> network_interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  std::vector<std::string> names;
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || entry->ifa_addr == nullptr) continue;
    const auto family = entry->ifa_addr->sa_family;
    const bool has_address = family == AF_INET || family == AF_INET6;
    const bool is_new = std::ranges::find(names, entry->ifa_name) == names.end();
    if (has_address && is_new) names.emplace_back(entry->ifa_name);
  }
  return names;
}

void require_interface(std::string_view interface) {
  const std::vector<std::string> names = network_interfaces();
  if (std::ranges::find(names, interface) != names.end()) return;
  throw usage_error(
      fmt::format("--interface {}: this host has no such network interface with an address",
                  interface),
      names.empty() ? std::string("leave it out, so that ranks talk over loopback")
                    : fmt::format("use one of these: {}", fmt::join(names, ", ")));
}

}  // namespace ptbench
