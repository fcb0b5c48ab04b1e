#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "src/comm/communicator.h"

namespace ptbench {

/// A socket that is closed with its owner.
class RankSocket {
 public:
  RankSocket() = default;
  explicit RankSocket(int number) : number_(number) {}
  RankSocket(RankSocket&& other) noexcept : number_(other.release()) {}
  RankSocket& operator=(RankSocket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  RankSocket(const RankSocket&) = delete;
  RankSocket& operator=(const RankSocket&) = delete;
  ~RankSocket() {
    if (is_open()) (void)::close(number_);
  }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  /// Closing it is the caller's business from now on.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// An address of a network interface, of IPv4 or IPv6, without a port.
struct InterfaceAddress {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

/// TCP connections to all other ranks of `host`, by rank (the own place is closed), which do not
/// block. All ranks call it. Each listens at its `own` address until the others have come, and
/// knows them by words that ranks tell each other by `host`: whoever else connects is sent away,
/// with one warning. Throws a run error where that takes longer than `timeout`.
[[nodiscard]] std::vector<RankSocket> connect_ranks(Communicator& host, const InterfaceAddress& own,
                                                    Communicator::Timeout timeout);

}  // namespace ptbench
