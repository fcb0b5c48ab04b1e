#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/base/size.h"
#include "src/process/network_socket.h"

namespace ptbench {

/// What a rank tells of itself so that its group meets, as it travels: anything where the other end
/// is broken.
struct StarPlace {
  Size colour = 0;
  Size key = 0;
  std::uint64_t secret = 0;
  std::uint16_t port = 0;
  std::array<char, 64> host{};  ///< ends with a null character, or is full
};

/// Where the ranks of one colour meet.
struct StarGroup {
  std::vector<Size> ranks;  ///< of the group that is split, in the new one's order
  NetworkAddress hub;       ///< of the first
  std::uint64_t secret = 0;
};

/// Of a rank that listens at `address`.
[[nodiscard]] StarPlace star_place_at(const NetworkAddress& address);
/// That of rank `own`, by the places of all ranks.
[[nodiscard]] StarGroup star_group_of(Size own, const std::vector<StarPlace>& places);

}  // namespace ptbench
