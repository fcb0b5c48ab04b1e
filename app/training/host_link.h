#pragma once

#include <span>
#include <string>

#include "src/base/clock.h"
#include "src/comm/communicator.h"
#include "src/device/device.h"
#include "src/measure/record.h"
#include "strategies/conductor.h"

namespace ptbench {

/// What a rank measures the link with; all of it outlives the measurement.
struct HostLinkRank {
  Communicator& communicator;  ///< of the training
  Device& device;              ///< whose memory is sent
  const Clock& clock;
  Communicator::Timeout timeout;  ///< of each exchange
};

/// What a message between two hosts costs: rank 0 and the first rank of another host send to each
/// other at once, a few bytes many times, and then more and more, as long as that is soon done: all
/// in all less than a second, or some seconds where few bytes take 100 ms. No bandwidth where many
/// bytes take hardly longer. All ranks of several hosts call it; `hosts`: by rank. Only rank 0 gets
/// the result. Throws the communicator's errors.
[[nodiscard]] LinkRecord measure_host_link(const RankRole& role, const HostLinkRank& rank,
                                           std::span<const std::string> hosts);

}  // namespace ptbench
