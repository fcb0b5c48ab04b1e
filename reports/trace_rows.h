#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/activity_log.h"
#include "src/base/size.h"
#include "src/measure/step_trace.h"

namespace ptbench {

// How a trace is drawn: as Kineto, PyTorch's profiler, draws a rank with a GPU, which is what tools
// expect. What a thread did are rows of a CPU thread. What the device did meanwhile are rows of
// streams, "kernels", each with a launch on the thread that gave the work, by a number in common.

/// The streams of replica r are these, plus kStreamsOfReplica · r.
inline constexpr Size kComputeStream = 7;
inline constexpr Size kCommunicationStream = 20;
inline constexpr Size kStreamsOfReplica = 100;

/// With a device's own streams, those above have other lines, and so have the threads that called.
inline constexpr Size kFirstAnnotation = 1'000'000'000;
inline constexpr Size kFirstCaller = 1'000'000'000;

/// How many streams, or replicas, there is room for in the numbers of processes of a rank.
inline constexpr Size kProcessesOfRank = 10'000;

/// The number of a rank's process: no rank has that of another.
[[nodiscard]] constexpr Size process_of(Size rank) { return kProcessesOfRank * (rank + 1); }
/// The number under which a replica's device is shown.
[[nodiscard]] constexpr Size device_of(Size rank, Size replica) {
  return process_of(rank) + 1 + replica;
}
/// The number of a track's thread in the rank's process.
[[nodiscard]] constexpr Size thread_of(std::size_t track) { return static_cast<Size>(track) + 1; }

/// Something that lasts, on a line of a process or a device.
struct TraceRow {
  std::string_view category;  ///< as Kineto calls it
  std::string name;
  Size process = 0;
  Size line = 0;           ///< thread or stream
  std::int64_t begin = 0;  ///< nanoseconds of the clock
  std::int64_t end = 0;
  nlohmann::ordered_json args;
  bool is_of_device = false;  ///< as the device itself told it
};

/// Whose rows they are.
struct TracedProcess {
  Size rank = 0;
  Size world_size = 1;               ///< ranks of its collectives
  std::vector<Size> device_numbers;  ///< of its replicas, as `DeviceActivity` has them; or empty
};

/// The whole steps of `recorder` as rows, those of a line in the order of time, what contains
/// others before them. Rows of one line nest or follow each other.
///
/// Collectives follow each other on their stream, as NCCL's kernels do. A row lasts as long as the
/// device did the collective, where that is known. Else it begins when this rank has started the
/// collective and those before it are done, and ends when the rank knew that it was done; where one
/// wait ended several, they share its time by their bytes. When the collective was started and
/// known to be finished is told beside it, in microseconds of the clock.
///
/// With `activity`, kernels are those that the device ran, on its own streams; phases and
/// collectives are annotations of the streams above.
[[nodiscard]] std::vector<TraceRow> trace_rows(const TraceRecorder& recorder,
                                               const TracedProcess& process,
                                               const ActivityLog* activity = nullptr);

/// Moves the begin and the end of each row to a whole microsecond, but for what devices told
/// themselves: of kernels to the one after, so that they follow their launch, of all others to the
/// one before. Rows of a line nest and follow each other as they did. Holistic Trace Analysis moves
/// the begin up and the end down, which gives a row between two microseconds a negative duration,
/// and counts a kernel that begins with its launch before it.
void keep_whole_microseconds(std::vector<TraceRow>& rows);

/// Replaces times by their places in the order of all times, a microsecond each: what is left of
/// the times of a device that has no speed.
void keep_order_only(std::vector<TraceRow>& rows);

}  // namespace ptbench
