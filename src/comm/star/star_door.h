#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/comm/star/door_callers.h"
#include "src/process/descriptor.h"

namespace ptbench {

/// What a rank says first over its connection to rank 0.
[[nodiscard]] std::string star_greeting(Size rank, std::uint64_t secret);
/// What it hears there once all have come.
inline constexpr std::string_view kStarIsComplete = "ptbench star complete";

/// Rank 0's door, where the other ranks connect. Anybody can: ranks are known by a greeting with
/// the secret, and whoever says something else, or nothing for longest, is sent away.
class StarDoor {
 public:
  StarDoor(Size size, std::uint64_t secret);

  /// Waits for so long at most, and sees to who came.
  void look(const Descriptor& listener, std::chrono::milliseconds longest);
  /// Somebody who connected.
  void take_in(Descriptor caller);
  /// Of those who were taken in, what they have said by now.
  void hear();

  [[nodiscard]] std::vector<Size> missing() const;
  /// Who may still say who they are.
  [[nodiscard]] std::size_t callers() const { return callers_.waiting().size(); }
  /// Who turned out to be no rank.
  [[nodiscard]] std::size_t strangers() const { return callers_.strangers(); }

  /// Once none is missing: their connections, by rank, rank 0's closed. Who has not said who it is
  /// is a stranger then.
  [[nodiscard]] std::vector<Descriptor> take_connections();

 private:
  [[nodiscard]] CallerIs who_is(Descriptor& caller);

  std::uint64_t secret_;
  std::vector<Descriptor> links_;
  DoorCallers<Descriptor> callers_;
};

}  // namespace ptbench
