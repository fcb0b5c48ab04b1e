#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/process/descriptor.h"
#include "src/process/host_lookup.h"
#include "src/process/local_socket.h"

namespace ptbench {

// Connections to programs on other hosts: TCP. None of the sockets blocks.

/// An address that programs connect to.
struct NetworkAddress {
  std::string host;  ///< a name, or an address as text
  std::uint16_t port = 0;
};

/// Listens there; port 0: at one that is free. Closed where the system refuses, for `why`.
[[nodiscard]] Descriptor listen_at(const NetworkAddress& address, std::string& why);
/// Closed where nobody listens, or has not answered by `end`, for `why`. The host's addresses, if
/// it has several, have equal parts of the time.
[[nodiscard]] Descriptor connect_to(const HostLookUp& host,
                                    std::chrono::steady_clock::time_point end, std::string& why);
/// The same with a host to look up.
[[nodiscard]] Descriptor connect_to(const NetworkAddress& address,
                                    std::chrono::steady_clock::time_point end, std::string& why);
/// What is sent over it leaves at once. So it is for those that connect_to made.
void make_prompt(const Descriptor& socket);
/// The address at this end of `socket`, its host as numbers.
[[nodiscard]] NetworkAddress own_address(const Descriptor& socket);
/// That at the other end.
[[nodiscard]] NetworkAddress peer_address(const Descriptor& socket);
/// Whether `socket` is a connection of this kind, or listens for them.
[[nodiscard]] bool is_network_socket(const Descriptor& socket);

// Messages of local_socket.h over such a connection: bytes that their length goes before. What of a
// message has not come stays in the socket, which is not readable before.

/// A message as it travels.
[[nodiscard]] std::string framed(std::string_view text);
[[nodiscard]] bool send_network_message(const Descriptor& socket, std::string_view text) noexcept;
[[nodiscard]] SocketMessage receive_network_message(const Descriptor& socket);
/// The same message will be received again.
[[nodiscard]] SocketMessage peek_network_message(const Descriptor& socket);

}  // namespace ptbench
