#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"
#include "src/device/device.h"

namespace ptbench {

/// What one way of a collective came to.
struct CommOutcome {
  double seconds = 0;  ///< median over calls of the slowest rank's time
  Size wrong = 0;      ///< values that are not what they should be, on all ranks together
};

/// A collective at one size. Sizes are of the whole array, as nccl-tests count them. In place, as
/// training has it: the result lies where the values were given, but for a gather, whose root gets
/// those of all elsewhere, and for messages: all_to_all, and send_receive around the ring.
struct CommMeasurement {
  std::string collective;
  std::string communicator;  ///< as on the command line
  Size ranks = 1;
  Size count = 0;        ///< floats
  double seconds = 0;    ///< median over calls of the slowest rank's time
  bool is_timed = true;  ///< false on emulated devices, whose times mean nothing
  Size wrong = 0;        ///< values that are not what they should be, on all ranks together
  /// With the result elsewhere; empty where the communicator works in place alone, and for what
  /// always has it so.
  std::optional<CommOutcome> out_of_place = std::nullopt;
  bool is_apart = false;  ///< what apart() gives

  [[nodiscard]] Bytes bytes() const { return float_bytes(count); }
  [[nodiscard]] bool sums() const;  ///< whether it adds, or only moves values
  /// The rank from which or to which values go; empty: all have the same part in it.
  [[nodiscard]] std::optional<Size> root() const;
  /// The same measurement with what came of it out of place.
  [[nodiscard]] std::optional<CommMeasurement> apart() const;
  /// Bytes per second; 0 for a time of 0.
  [[nodiscard]] double algorithm_bandwidth() const;
  /// What each link of a ring would carry: × 2(n−1)/n for an all-reduce, (n−1)/n for
  /// reduce-scatter, all-gather, gather and all-to-all, 1 for broadcast, reduce and send-receive
  /// (nccl-tests, PERFORMANCE.md).
  [[nodiscard]] double bus_bandwidth() const;
};

/// The collectives that can be measured: "all_reduce", …
[[nodiscard]] std::vector<std::string> comm_collectives();

struct CommPlan {
  std::vector<std::string> collectives;      ///< of comm_collectives()
  std::vector<Bytes> sizes;                  ///< multiples of 4
  Communicator::Timeout timeout{};           ///< of each wait
  std::optional<Size> calls = std::nullopt;  ///< that are timed; empty: as many as take a while
  Size warm_up_calls = 5;
};

/// What measures have to do with: a device whose memory communicates, who moves its values, and who
/// carries the host's words about it.
struct CommBenchRank {
  Device& device;
  Communicator& communicator;
  ControlChannel& control;
};

/// Who follows the measuring on a rank.
struct CommFollower {
  /// Whether this rank was asked to end; asked before each row. Once one rank was, all end.
  std::function<bool()> interrupted = nullptr;
  /// Told on rank 0 of each row that is complete.
  std::function<void(const CommMeasurement&)> measured = nullptr;
};

/// Rows that `plan` has.
[[nodiscard]] Size comm_rows(const CommPlan& plan);

/// Seconds that all rows are going to take, roughly: before any call has shown how fast it is.
[[nodiscard]] double expected_comm_seconds(const CommPlan& plan, Size ranks);

/// What a rank's memory() must hold for `plan`.
[[nodiscard]] Bytes comm_bytes_per_rank(const CommPlan& plan, Size ranks);

/// Arrays that are there at one time, on all ranks: the values of each, and results that lie apart,
/// for which there is always room for one.
[[nodiscard]] Size comm_arrays(const CommPlan& plan, Size ranks);

/// Measures every collective at every size; all ranks call it with the same plan. Before each call,
/// outside the time, every rank writes its values anew, so that they lie in its own caches, and
/// meets the others. A call ends when the host knows that its values are there. Where the
/// communicator works on the device, calls are started one after the other and the last is waited
/// for, as nccl-tests do, and a time is a mean over them; values are checked of calls besides. Sums
/// are of small whole numbers, so that they are exact. Only rank 0 gets the result, which has fewer
/// than comm_rows() where `follower` ended it. Throws the communicator's errors.
[[nodiscard]] std::vector<CommMeasurement> measure_collectives(const CommBenchRank& rank,
                                                               const CommPlan& plan,
                                                               const CommFollower& follower = {});

}  // namespace ptbench
