#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

enum class ActivityKind : std::uint8_t {
  call,    ///< of a thread of this process, which gave work or waited for it
  kernel,  ///< the others are what a device did
  copy,
  fill,
};

/// One thing that a device, or the library that gives it work, was seen to do.
struct DeviceActivity {
  ActivityKind kind = ActivityKind::call;
  std::string name;  ///< "cudaLaunchKernel", a kernel's, "Memcpy HtoD (Pinned -> Device)"
  std::uint32_t correlation = 0;  ///< the same for a call and the work that it gave
  double begin = 0;               ///< seconds of the steady clock, as `SteadyClock` has them
  double end = 0;
  Size device = 0;  ///< as its kind of device counts, from 0; 0 for calls
  Size line = 0;    ///< its stream, from 1; for calls the operating system's id of the thread
  Bytes bytes = 0;  ///< of copies and fills
};

struct ActivityLog {
  std::string source;  ///< whose word it is: "CUPTI 130001"
  std::vector<DeviceActivity> activities;
  std::uint64_t lost = 0;  ///< for which there was no room, or whose times nobody knows
  /// Of the activities, work of devices whose call is not among them: it was lost, and with it the
  /// step that the work belongs to.
  std::uint64_t without_call = 0;
};

}  // namespace ptbench
