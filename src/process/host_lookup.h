#pragma once

#include <netdb.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace ptbench {

/// For a resolver to answer.
inline constexpr std::chrono::milliseconds kLongestLookUp{3000};

/// Where a host's name leads.
struct HostLookUp {
  std::shared_ptr<const addrinfo> addresses;  ///< of TCP; null: none
  bool may_exist = true;                      ///< false: the resolver says that it does not
  std::string why;                            ///< there are no addresses
};

/// Looks up `host`, a name or an address as text, in a thread that takes no signals: it is left
/// behind should the resolver not have answered by `end`.
[[nodiscard]] HostLookUp look_up(const std::string& host, std::uint16_t port,
                                 std::chrono::steady_clock::time_point end);

}  // namespace ptbench
