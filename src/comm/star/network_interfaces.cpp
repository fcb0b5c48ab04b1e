#include "src/comm/star/network_interfaces.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "src/base/error.h"

namespace ptbench {
namespace {

struct NamedAddress {
  std::string name;
  std::string address;  ///< as numbers
  bool is_loopback = false;
};

socklen_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

/// The IP addresses of interfaces that are up, in the system's order.
std::vector<NamedAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  std::vector<NamedAddress> found;
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || entry->ifa_addr == nullptr) continue;
    const auto family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(entry->ifa_addr, size_of(*entry->ifa_addr), text.data(), text.size(), nullptr,
                    0, NI_NUMERICHOST) != 0)
      continue;
    found.push_back({.name = entry->ifa_name,
                     .address = text.data(),
                     .is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return found;
}

}  // namespace

std::vector<std::string> network_interfaces() {
  std::vector<std::string> names;
  for (const NamedAddress& one : interface_addresses())
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  return names;
}

std::string interface_with(std::string_view address) {
  const std::vector<NamedAddress> all = interface_addresses();
  const auto found = std::ranges::find(all, address, &NamedAddress::address);
  return found == all.end() ? std::string() : found->name;
}

std::string own_network_address() {
  std::string other;
  for (const NamedAddress& one : interface_addresses()) {
    const bool is_of_link = one.address.find('%') != std::string::npos;
    if (one.is_loopback || is_of_link) continue;
    if (one.address.find(':') == std::string::npos) return one.address;
    if (other.empty()) other = one.address;
  }
  return other;
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
