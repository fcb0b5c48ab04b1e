#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/process/descriptor.h"

namespace ptbench {

// Sockets of this host that carry whole messages: AF_UNIX, SOCK_SEQPACKET. A name that begins with
// a slash is a path, others are abstract. None of them blocks.

/// Names are shorter.
inline constexpr std::size_t kMostSocketName = 108;

/// No message is longer.
inline constexpr std::size_t kMostMessage = std::size_t{64} << 10U;

/// One message, or the end of them.
struct SocketMessage {
  enum class Kind : std::uint8_t { none_yet, text, closed };
  Kind kind = Kind::none_yet;
  std::string text;       ///< what is too long to be a message is garbage, and left empty
  Descriptor descriptor;  ///< that came with it
};

/// Who is at the other end of `socket`, by the kernel's word.
[[nodiscard]] bool belongs_to_this_user(const Descriptor& socket);
/// The process there, the same way; 0 where it has a number that means nothing here.
[[nodiscard]] int peer_process(const Descriptor& socket);

/// Closed where the system refuses; `error_number` says why, EADDRINUSE for a name that is taken.
[[nodiscard]] Descriptor listen_at(std::string_view name, int& error_number);
/// Closed where nobody listens, or the system refuses.
[[nodiscard]] Descriptor connect_to(std::string_view name, int& error_number);
/// Closed where nobody waits to be accepted.
[[nodiscard]] Descriptor accept_from(const Descriptor& listener);
/// The same where a connection is needed: throws a run error where no more files may be open.
[[nodiscard]] Descriptor accept_needed(const Descriptor& listener);

// Messages also go over connections of network_socket.h, without descriptors.

/// Whether all of it was sent. `descriptor`: sent along unless negative, which only sockets of this
/// host can.
[[nodiscard]] bool send_message(const Descriptor& socket, std::string_view text,
                                int descriptor = -1) noexcept;
[[nodiscard]] SocketMessage receive_message(const Descriptor& socket);
/// The next message, without its descriptor; it will be received all the same.
[[nodiscard]] SocketMessage peek_message(const Descriptor& socket);
/// The next message, after waiting for it until `end`.
[[nodiscard]] SocketMessage receive_message(const Descriptor& socket,
                                            std::chrono::steady_clock::time_point end);
/// For poll(2): what is left until `end`, rounded up.
[[nodiscard]] int poll_timeout(std::chrono::steady_clock::time_point end);

}  // namespace ptbench
