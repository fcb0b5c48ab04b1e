#include "src/ranks/meeting_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "src/base/log.h"
#include "src/process/descriptor.h"
#include "src/process/host_lookup.h"

namespace ptbench {
namespace {

/// Only a host's own addresses can be bound to.
bool is_of_this_host(const addrinfo& address) {
  const Descriptor socket(::socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket.is_open() && bind(socket.number(), address.ai_addr, address.ai_addrlen) == 0;
}

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr);
  constexpr std::uint32_t kNetwork = 127;
  constexpr unsigned kHostBits = 24;
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
  return address.ai_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> kHostBits == kNetwork;
}

/// Whether another meeting of this user's ranks waits on this host (/proc/net/unix, unix(7)).
bool another_meeting_waits(std::string_view socket_name) {
  constexpr std::uint64_t kListens = 0x10000;
  const std::string_view folder = socket_name.substr(0, socket_name.rfind('/') + 1);
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.rfind('@');
    if (at == std::string::npos) continue;
    const std::string_view name = std::string_view(line).substr(at + 1);
    std::istringstream fields(line);
    std::string skipped;
    std::uint64_t flags = 0;
    fields >> skipped >> skipped >> skipped >> std::hex >> flags;
    if ((flags & kListens) != 0 && name.starts_with(folder) && name != socket_name) return true;
  }
  return false;
}

}  // namespace

Whereabouts whereabouts_of(const std::string& host) {
  const HostLookUp found = look_up(host, 0, std::chrono::steady_clock::now() + kLongestLookUp);
  if (!found.addresses) return found.may_exist ? Whereabouts::not_known : Whereabouts::nowhere;
  for (const addrinfo* one = found.addresses.get(); one != nullptr; one = one->ai_next) {
    if (is_loopback(*one)) return Whereabouts::loopback;
    if (is_of_this_host(*one)) return Whereabouts::here;
  }
  return Whereabouts::elsewhere;
}

std::string doubt_about(const MeetingAddress& address, std::string_view socket_name) {
  if (address.variables.empty()) return {};
  const std::string given =
      fmt::format(": {} is '{}', which is", address.variable, printable(address.host));
  switch (whereabouts_of(address.host)) {
    case Whereabouts::elsewhere: return given + " not an address of this host";
    case Whereabouts::nowhere: return given + " a host that is not known here";
    case Whereabouts::loopback:
    case Whereabouts::here:
    case Whereabouts::not_known: break;
  }
  if (!another_meeting_waits(socket_name)) return {};
  return fmt::format(": other ranks wait on this host under another {}", address.variables);
}

std::string remedy_for(const MeetingAddress& address, bool may_be_apart) {
  if (address.variables.empty())
    return "start all ranks on this host and with the same PTBENCH_ADDR=host:port, or give a "
           "longer --timeout";
  if (may_be_apart)
    return fmt::format(
        "start all ranks with the same {} that names rank 0's host as the others reach it, or give "
        "a longer --timeout",
        address.variables);
  return fmt::format(
      "start all ranks on this host, with the same {} that names it, or give a longer --timeout",
      address.variables);
}

}  // namespace ptbench
