#pragma once

#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ptbench::testing {

/// Addresses at which others can connect to sockets of IPv4 of this process. Other threads may open
/// and close files meanwhile.
[[nodiscard]] inline std::vector<sockaddr_storage> listening_sockets() {
  std::vector<sockaddr_storage> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
      continue;
    sockaddr_storage address{};
    size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
        address.ss_family == AF_INET)
      found.push_back(address);
  }
  return found;
}

}  // namespace ptbench::testing
