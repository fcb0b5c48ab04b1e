#pragma once

#include <memory>
#include <string>

#include "src/base/activity_log.h"

namespace ptbench {

/// Records what all devices of its kind do for this process, from when it was made. One at a time.
class ActivityRecorder {
 public:
  virtual ~ActivityRecorder() = default;
  /// Ends recording. What was given to the devices is done. Called once.
  [[nodiscard]] virtual ActivityLog finish() = 0;
};

/// A watch that has begun, or why there is none.
struct ActivityStart {
  std::unique_ptr<ActivityRecorder> watch;  ///< null: there is a reason
  std::string reason;                       ///< for people
  std::string remedy;                       ///< in the imperative
};

/// Interface "activity" of engine modules. C++ objects cross it, as they cross the interface
/// "site", which is opened before and of one build. Whoever changes these types counts the version
/// up.
inline constexpr const char* kActivityInterface = "activity";
inline constexpr unsigned kActivityAbi = 2;
struct ActivityInterface {
  /// Begins to record. Slows devices down: for steps that are not measured. Never throws for a
  /// library that is absent or refuses.
  ActivityStart (*start)();
  // For tools that were started with this program: what lies between is what is measured. They
  // never throw.
  void (*begin_profile)() noexcept;
  void (*end_profile)() noexcept;
};

/// Of the open engine that the device of this id ("cuda:0") belongs to; null where there is none,
/// as for a CPU, where only the activity of its threads is known.
[[nodiscard]] const ActivityInterface* find_activity(const std::string& device);

}  // namespace ptbench
