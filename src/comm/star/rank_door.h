#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/comm/star/door_callers.h"
#include "src/comm/star/rank_sockets.h"

namespace ptbench {

/// What strangers cannot know.
using DoorWord = std::array<std::uint64_t, 2>;

/// The first that a rank sends over its connection to a lower one.
struct RankGreeting {
  DoorWord word{};         ///< of the lower one's door
  std::uint64_t rank = 0;  ///< of who sends it
};
static_assert(sizeof(RankGreeting) == 24, "nothing is between its parts");

/// A rank's door, where higher ranks connect. Anybody can: ranks are known by a greeting with the
/// door's word, and whoever says something else, or nothing for longest, is sent away.
class RankDoor {
 public:
  /// Of `rank`, one of so many.
  RankDoor(std::size_t rank, std::size_t ranks, const DoorWord& word);

  [[nodiscard]] const DoorWord& word() const { return word_; }
  /// Somebody who connected; the socket does not block.
  void take_in(RankSocket socket);
  /// Of those who were taken in, what they have said by now.
  void hear();
  /// To wait for words of theirs.
  [[nodiscard]] std::vector<pollfd> events() const;

  [[nodiscard]] std::vector<std::size_t> missing() const;
  /// Who may still say who they are.
  [[nodiscard]] std::size_t callers() const { return callers_.waiting().size(); }
  /// Who turned out to be no rank.
  [[nodiscard]] std::size_t strangers() const { return callers_.strangers(); }

  /// Once none is missing: the connections of the higher ranks, by rank, all others closed. Who has
  /// not said who it is is a stranger then.
  [[nodiscard]] std::vector<RankSocket> take_connections();

 private:
  /// Whoever has connected, and has not said yet who it is.
  struct Caller {
    RankSocket socket;
    RankGreeting greeting;
    std::size_t heard = 0;  ///< bytes of the greeting
  };

  [[nodiscard]] CallerIs who_is(Caller& caller);
  [[nodiscard]] bool is_awaited(const RankGreeting& greeting) const;

  std::size_t rank_;
  DoorWord word_;
  std::vector<RankSocket> connections_;  ///< by rank
  DoorCallers<Caller> callers_;
};

}  // namespace ptbench
