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
