#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ptbench {

/// What is known of somebody who connected, once what was said is read.
enum class CallerIs : std::uint8_t { silent, rank, stranger };

/// Who has connected at a door of ranks, and has not said yet who it is; and how many turned out to
/// be no rank. `Caller` is movable and has the connection.
template <class Caller>
class DoorCallers {
 public:
  /// At a door where so many ranks meet.
  explicit DoorCallers(std::size_t ranks) : most_(ranks + kMostBesideRanks) {}

  /// Ranks say at once who they are: where too many wait, the one that was silent for longest is
  /// sent away.
  void take_in(Caller caller) {
    if (waiting_.size() >= most_) {
      waiting_.erase(waiting_.begin());
      ++strangers_;
    }
    waiting_.push_back(std::move(caller));
  }

  /// `who` tells of a caller, by reference, what is known by now, and takes its connection where it
  /// is a rank.
  template <class Who>
  void hear(Who who) {
    for (Caller& caller : std::exchange(waiting_, {})) {
      const CallerIs known = who(caller);
      if (known == CallerIs::silent) waiting_.push_back(std::move(caller));
      if (known == CallerIs::stranger) ++strangers_;
    }
  }

  /// Who is silent still is a stranger.
  void send_away() {
    strangers_ += waiting_.size();
    waiting_.clear();
  }

  [[nodiscard]] std::span<const Caller> waiting() const { return waiting_; }
  [[nodiscard]] std::size_t strangers() const { return strangers_; }

 private:
  static constexpr std::size_t kMostBesideRanks = 64;

  std::size_t most_;
  std::vector<Caller> waiting_;
  std::size_t strangers_ = 0;
};

}  // namespace ptbench
