#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "src/comm/communicator.h"

namespace ptbench {

/// Puts every rank's `own`, of equal sizes, one after the other into `all` on every rank. All ranks
/// call it. For a few bytes: they go by way of rank 0.
void exchange(Communicator& communicator, std::span<const std::byte> own, std::span<std::byte> all,
              Communicator::Timeout timeout);

/// Messages that each of two ranks, or all around a ring, give each other at once.
struct MessagesBothWays {
  std::span<const std::byte> sent;
  Size to = 0;
  std::span<std::byte> received;
  Size from = 0;
};

/// Starts both, and returns the ticket of the later one. Over a network the receive comes first: a
/// library that asks for what it receives must not have the question wait behind what it sends.
/// Else what is sent does, for devices that do one after the other.
[[nodiscard]] Communicator::Ticket start_both_ways(Communicator& communicator,
                                                   const MessagesBothWays& messages);

/// What every rank gives, by rank, on every rank. All ranks call it.
template <class T>
[[nodiscard]] std::vector<T> of_all_ranks(Communicator& communicator, const T& own,
                                          Communicator::Timeout timeout) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(communicator.world_size()));
  exchange(communicator, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)),
           timeout);
  return all;
}

}  // namespace ptbench
