#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/activity_log.h"
#include "src/base/size.h"
#include "src/measure/step_trace.h"

namespace ptbench {

/// The clock of a trace's times.
struct TraceClock {
  std::string identity;           ///< equal where readings can be compared as they are
  std::int64_t unix_at_zero = 0;  ///< nanoseconds since 1970 when the clock was 0
};

/// Where a trace comes from.
struct TraceOrigin {
  std::string run;      ///< the record's id
  std::string version;  ///< of this program
  Size rank = 0;
  Size world_size = 1;  ///< processes, each with a trace
  std::string communicator;
  std::string device;                ///< "cpu"
  std::vector<Size> device_numbers;  ///< of the replicas' devices, as activities count them
  std::string activity_gap;          ///< why there is no activity of the device; may be empty
  TraceClock clock;
  TraceWindow window;
  bool is_emulated = false;  ///< the device: times are places in an order
};

/// What tells a trace of ptbench from others: "schema" in its object "ptbench".
inline constexpr std::string_view kTraceSchema = "ptbench.trace/1";

/// The rank's file in the format of Kineto (Chrome's trace events), which Perfetto, Holistic Trace
/// Analysis and others read. Times are microseconds of the clock.
/// `activity`: what the device was seen to do in these steps; null where it was not watched.
[[nodiscard]] std::string to_trace_json(const TraceOrigin& origin, const TraceRecorder& recorder,
                                        const ActivityLog* activity = nullptr);

/// A trace file: the members of `head`, then `lines`, one event each.
[[nodiscard]] std::string trace_text(const nlohmann::ordered_json& head, std::string_view lines);

}  // namespace ptbench
