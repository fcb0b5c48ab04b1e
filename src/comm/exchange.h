#pragma once

#include <cstddef>
#include <span>

#include "src/comm/communicator.h"

namespace ptbench {

/// Puts every rank's `own`, of equal sizes, one after the other into `all` on every rank. All ranks
/// call it. For a few bytes: they go by way of rank 0.
void exchange(Communicator& communicator, std::span<const std::byte> own, std::span<std::byte> all,
              Communicator::Timeout timeout);

}  // namespace ptbench
