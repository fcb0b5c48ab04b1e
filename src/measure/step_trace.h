#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/base/element_type.h"
#include "src/base/size.h"
#include "src/measure/step_phase.h"
#include "src/measure/time_span.h"

namespace ptbench {

// Steps as traces show them: each phase and each collective with its beginning and end. Times are
// readings of the clock by which phases are timed, in seconds.

/// The steps of a training that are traced.
struct TraceWindow {
  std::optional<Size> first;  ///< from 1; empty: the first after a warm-up
  Size count = 4;
  friend bool operator==(const TraceWindow&, const TraceWindow&) = default;
};

/// An operation between ranks.
enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  reduce,
  gather,
  broadcast,
  send,
  receive,
  barrier,
};

/// An operation between ranks, as the rank that starts it sees it.
struct CollectiveStart {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ElementType type = ElementType::f32;
  Bytes bytes = 0;  ///< that this rank gives, or gets
};

struct TracedStep {
  Size number = 0;  ///< of the training, from 1
  double begin = 0;
  double end = 0;
};

/// A phase, or a part of one.
struct TracedSpan {
  StepPhase phase{};
  std::uint64_t payload = 0;  ///< a micro-batch's index or a number of bytes
  double begin = 0;
  double end = 0;
};

struct TracedCollective {
  CollectiveStart what;
  double begin = 0;             ///< this rank started it
  double end = 0;               ///< this rank knew that it was finished
  std::optional<TimeSpan> ran;  ///< when the device did it, where that is known
};

/// What one thread did in the steps that are traced, in the order in which it began. Its memory is
/// taken beforehand: recording allocates nothing, and ends where there is no room left. For one
/// thread at a time.
class TraceTrack {
 public:
  /// How much of each is kept at the most.
  struct Room {
    std::size_t steps = 0;
    std::size_t spans = 0;
    std::size_t collectives = 0;
  };
  explicit TraceTrack(const Room& room);

  // Recording, in the order of time.
  void begin_step(Size number, double now);
  void end_step(double now);
  void enter(StepPhase phase, std::uint64_t payload, double now);
  /// Ends what was entered last.
  void leave(double now);
  /// `ran`: when a device did it, where that is known already.
  void start_collective(const CollectiveStart& what, double now, std::optional<TimeSpan> ran = {});
  /// The `count` oldest that were started and are not finished.
  void finish_collectives(std::size_t count, double now);

  // What has ended, with what is open still: its end is kOpen.
  static constexpr double kOpen = -1;
  [[nodiscard]] std::span<const TracedStep> steps() const { return steps_; }
  [[nodiscard]] std::span<const TracedSpan> spans() const { return spans_; }
  [[nodiscard]] std::span<const TracedCollective> collectives() const { return collectives_; }
  /// When the first thing came for which there was no room.
  [[nodiscard]] double full_since() const { return full_since_; }

 private:
  static constexpr std::size_t kDeepest = 16;
  static constexpr std::size_t kLost = std::numeric_limits<std::size_t>::max();

  void lose(double now) {
    if (now < full_since_) full_since_ = now;
  }

  Room room_;
  std::vector<TracedStep> steps_;
  std::vector<TracedSpan> spans_;
  std::vector<TracedCollective> collectives_;
  std::array<std::size_t, kDeepest> open_{};  ///< spans by depth; kLost: for which was no room
  std::size_t depth_ = 0;
  std::size_t finished_ = 0;  ///< collectives
  double full_since_ = std::numeric_limits<double>::infinity();
};

/// The tracks of a process: the first is of the thread that makes the steps, the others of those
/// that drive further replicas, by replica.
class TraceRecorder {
 public:
  /// A track keeps no more, so that a file is not much larger than 20 MB a thread.
  static constexpr std::size_t kMostSpans = std::size_t{1} << 15U;

  /// For so many steps.
  TraceRecorder(std::size_t tracks, Size steps, std::size_t most_spans = kMostSpans);
  /// `begin` is called once, before the first step begins: nothing is at work then.
  void before_first_step(std::function<void()> begin) { begin_ = std::move(begin); }
  /// A step is about to begin.
  void prepare_step() {
    if (begin_) std::exchange(begin_, nullptr)();
  }

  [[nodiscard]] TraceTrack& track(std::size_t index) { return tracks_.at(index); }
  [[nodiscard]] std::span<const TraceTrack> tracks() const { return tracks_; }
  /// The steps that ended before any track was full: of them everything is known.
  [[nodiscard]] std::vector<TracedStep> whole_steps() const;
  /// Whether a track was full before its thread was done.
  [[nodiscard]] bool is_cut() const;

 private:
  [[nodiscard]] double full_since() const;

  std::vector<TraceTrack> tracks_;
  std::function<void()> begin_;
};

}  // namespace ptbench
