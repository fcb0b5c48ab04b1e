#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace ptbench {

/// The address that names a meeting of ranks, as its user gave it. Nobody connects to it: it must
/// be the same for all ranks, which are on this host.
struct MeetingAddress {
  std::string variables;  ///< "MASTER_ADDR and MASTER_PORT"; empty: no address was given
  std::string variable;   ///< the one that holds the host
  std::string host;
};

/// The host's name is looked up no longer than this.
inline constexpr std::chrono::milliseconds kLongestLookUp{3000};

/// Why ranks may not have met at `address`, whose socket is `socket_name`: ": MASTER_ADDR is 'x',
/// which is no address of this host"; empty where nothing is wrong with it.
[[nodiscard]] std::string doubt_about(const MeetingAddress& address, std::string_view socket_name);

/// What to do where ranks did not meet at `address`.
[[nodiscard]] std::string remedy_for(const MeetingAddress& address);

}  // namespace ptbench
