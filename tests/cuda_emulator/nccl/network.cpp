#include "tests/cuda_emulator/nccl/network.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

namespace ptbench::emulator::nccl {
namespace {

/// Whether an interface is one of a list in NCCL_SOCKET_IFNAME.
bool is_asked_for(std::string_view name, const std::string& list) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');)
    if (word.starts_with('=') ? name == word.substr(1) : name.starts_with(word)) return true;
  return false;
}

/// Those that are up and have an address: the first that is asked for, or the first that leads out.
std::string find_interface() {
  const char* list = std::getenv("NCCL_SOCKET_IFNAME");
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  std::string loopback;
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || entry->ifa_addr == nullptr) continue;
    if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6) continue;
    const bool leads_out = (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (list != nullptr ? is_asked_for(entry->ifa_name, list) : leads_out) return entry->ifa_name;
    if (list == nullptr) loopback = entry->ifa_name;
  }
  return loopback;
}

}  // namespace

const std::string& bootstrap_interface() {
  static const std::string found = [] {
    std::string name = find_interface();
    const char* debug = std::getenv("NCCL_DEBUG");
    if (debug != nullptr && std::string_view(debug) == "INFO" && !name.empty()) {
      std::printf("NCCL INFO Bootstrap: Using %s\n", name.c_str());
      std::fflush(stdout);  // ranks may be killed
    }
    return name;
  }();
  return found;
}

}  // namespace ptbench::emulator::nccl
