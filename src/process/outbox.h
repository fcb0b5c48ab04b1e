#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include "src/process/descriptor.h"

namespace ptbench {

/// Messages to the program at the other end of a socket, of either kind, which leave as it takes
/// them: in order, whole, and without anybody waiting.
class Outbox {
 public:
  void add(std::string text) { messages_.push_back(std::move(text)); }
  [[nodiscard]] bool is_empty() const { return messages_.empty(); }

  /// Sends what `socket`, always the same, takes now. Once its connection has ended nothing is
  /// left.
  void send_to(const Descriptor& socket);
  /// The same until all has left, or it is `end`.
  void send_all_to(const Descriptor& socket, std::chrono::steady_clock::time_point end);

 private:
  std::deque<std::string> messages_;
  std::size_t sent_ = 0;  ///< bytes of the first one that have left
};

}  // namespace ptbench
