#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/size.h"
#include "src/process/descriptor.h"
#include "src/process/network_socket.h"

namespace ptbench {

/// Connections between the first of some ranks and each of the others.
struct StarLinks {
  Size rank = 0;
  std::vector<Descriptor> links;  ///< of rank 0: by rank, its own closed; of others: to rank 0
};

/// How long ranks wait for each other's connections.
struct StarPatience {
  std::chrono::steady_clock::time_point end;
  std::function<void()> look;  ///< now and then; throws where waiting makes no sense any more
};

/// Rank 0's side: takes the connections of `size` - 1 ranks that know the secret, and tells them
/// once all are there. Others are sent away, with one warning. Throws a run error that names the
/// ranks that are missing in the end.
[[nodiscard]] StarLinks accept_star(const Descriptor& listener, Size size, std::uint64_t secret,
                                    const StarPatience& patience);
/// Another rank's side: connects until rank 0 says that all are there, again where it was sent away
/// meanwhile, as one of many who came at once may be. Throws a run error where rank 0 does not
/// answer at `hub`.
[[nodiscard]] StarLinks join_star(const NetworkAddress& hub, Size rank, std::uint64_t secret,
                                  const StarPatience& patience);

/// That nobody guesses.
[[nodiscard]] std::uint64_t new_secret();

}  // namespace ptbench
