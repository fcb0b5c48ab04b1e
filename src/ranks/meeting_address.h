#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ptbench {

/// The address that names a meeting of ranks, as its user gave it, the same for all ranks. Those on
/// its host need nothing but the name; those on other hosts connect to it.
struct MeetingAddress {
  std::string variables;   ///< "MASTER_ADDR and MASTER_PORT"; empty: no address was given
  std::string variable;    ///< the one that holds the host
  std::string host;        ///< rank 0's
  std::uint16_t port = 0;  ///< at which rank 0 listens for other hosts; 0: there are none
};

/// Where a host's name leads.
enum class Whereabouts : std::uint8_t {
  loopback,   ///< to this host, and from no other
  here,       ///< to this host
  elsewhere,  ///< to another host
  nowhere,
  not_known,  ///< the resolver cannot say
};

/// Waits for the resolver no longer than kLongestLookUp.
[[nodiscard]] Whereabouts whereabouts_of(const std::string& host);

/// Why ranks may not have met at `address`, whose socket is `socket_name`: ": MASTER_ADDR is 'x',
/// which is no address of this host"; empty where nothing is wrong with it.
[[nodiscard]] std::string doubt_about(const MeetingAddress& address, std::string_view socket_name);

/// What to do where ranks did not meet at `address`.
[[nodiscard]] std::string remedy_for(const MeetingAddress& address, bool may_be_apart);

}  // namespace ptbench
