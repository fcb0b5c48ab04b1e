#include "src/ranks/meeting_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "src/base/log.h"
#include "src/process/descriptor.h"

namespace ptbench {
namespace {

enum class Whereabouts : std::uint8_t { here, elsewhere, nowhere, not_known };

/// Only a host's own addresses can be bound to.
bool is_of_this_host(const addrinfo& address) {
  const Descriptor socket(::socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket.is_open() && bind(socket.number(), address.ai_addr, address.ai_addrlen) == 0;
}

/// Waits as long as the resolver does.
Whereabouts look_up(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error == EAI_AGAIN) return Whereabouts::not_known;
  if (error != 0) return Whereabouts::nowhere;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next)
    if (is_of_this_host(*address)) return Whereabouts::here;
  return Whereabouts::elsewhere;
}

/// In a thread that is left behind should the resolver take too long.
Whereabouts look_up_in_time(const std::string& host) {
  std::packaged_task<Whereabouts()> task([host] { return look_up(host); });
  std::future<Whereabouts> answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(kLongestLookUp) != std::future_status::ready) return Whereabouts::not_known;
  return answer.get();
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

std::string doubt_about(const MeetingAddress& address, std::string_view socket_name) {
  if (address.variables.empty()) return {};
  const std::string given =
      fmt::format(": {} is '{}', which is", address.variable, printable(address.host));
  switch (look_up_in_time(address.host)) {
    case Whereabouts::elsewhere: return given + " no address of this host";
    case Whereabouts::nowhere: return given + " no host that is known here";
    case Whereabouts::here:
    case Whereabouts::not_known: break;
  }
  if (!another_meeting_waits(socket_name)) return {};
  return fmt::format(": other ranks wait on this host under another {}", address.variables);
}

std::string remedy_for(const MeetingAddress& address) {
  if (address.variables.empty())
    return "start all ranks on this host and with the same PTBENCH_ADDR=host:port, or give a "
           "longer --timeout";
  return fmt::format(
      "start all ranks on this host, with the same {} that names it, or give a longer --timeout",
      address.variables);
}

}  // namespace ptbench
