#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/comm/shm/shared_region.h"
#include "src/process/outbox.h"

namespace ptbench {

/// Keeps the regions of ranks on several hosts alike in what ranks say of themselves: their phases,
/// how much they have worked, and who gave up; and knows for how long each has shown no sign of
/// life. Each rank tells rank 0, and rank 0 tells all, of other ranks only where they have stopped:
/// while all train, what is told grows as their number, not as its square. What rank 0 knows, and
/// what others know of it, is as old as the last message.
class RankMirror {
 public:
  using Duration = std::chrono::milliseconds;

  /// `heartbeat`: without anything new a rank is told after so long. What has not changed for so
  /// long has stopped.
  RankMirror(SharedRegion region, Size own, Duration heartbeat);

  /// Takes note of what this rank's region says now, and that its process has been silent so long.
  void note(Duration own_silence);
  /// Tells the rank to which `outbox` leads of this rank what has changed since it was told, on
  /// rank 0 of the others how many collectives they had started where they stopped, once all that
  /// it was told has left; and who gave up.
  void tell(Size rank, Outbox& outbox);
  /// Takes over what rank `from` told; false for another message.
  [[nodiscard]] bool hear(Size from, std::string_view message);
  /// Of that rank's process, as it says.
  [[nodiscard]] Duration silent(Size rank) const;

 private:
  /// What is said of a rank, as it travels: both ends are the same program.
  struct State {
    std::int64_t rank = 0;
    std::uint64_t worked = 0;
    std::uint64_t started_on_device = 0;
    std::uint64_t phase = 0;
    std::int64_t silent = 0;  ///< for so many milliseconds

    friend bool operator==(const State&, const State&) = default;
  };
  using Time = std::chrono::steady_clock::time_point;
  struct Noted {
    State state;
    std::uint64_t changed = 0;  ///< round of note() in which it did so last
    std::uint64_t stopped = 0;  ///< round in which it was last found to have stopped
    bool goes_on = false;       ///< has started more since
    Time started;               ///< when it had last started more
  };
  struct Told {
    std::uint64_t round = 0;  ///< up to which it was told
    Time at;
    bool who_gave_up = false;
  };

  [[nodiscard]] State state_now(Size rank) const;
  /// Of note(), in which there was last something of it that others are told.
  [[nodiscard]] std::uint64_t round_of_news(const Noted& noted) const;
  void take_over(const State& state);

  SharedRegion region_;
  Size own_;
  Duration heartbeat_;
  std::uint64_t round_ = 0;
  std::vector<Noted> noted_;      ///< by rank
  std::vector<Duration> silent_;  ///< by rank
  std::map<Size, Told> told_;
};

}  // namespace ptbench
