#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "src/base/size.h"

namespace ptbench {

/// What holds a process back beside other programs: its control group's CPU quota, heat, and lack
/// of memory. Empty: the kernel does not tell.
struct Pressure {
  /// Periods (of 100 ms, usually) in which a quota was used up, in this group and those above it.
  std::optional<Size> throttled_periods = std::nullopt;
  /// Seconds that threads waited for the next period, the seconds of all CPUs added up.
  std::optional<double> throttled_seconds = std::nullopt;
  /// How often cores slowed themselves down for heat.
  std::optional<Size> thermal_throttles = std::nullopt;
  /// Bytes moved between memory and swap, by anybody on the machine.
  std::optional<Bytes> swapped_bytes = std::nullopt;
  /// Bytes of this process that are in swap now.
  std::optional<Bytes> own_swap_bytes = std::nullopt;

  friend bool operator==(const Pressure&, const Pressure&) = default;
};

/// Counted since the machine started, or the control group was made. `root` is where /proc and /sys
/// are found.
[[nodiscard]] Pressure read_pressure(const std::filesystem::path& root = "/");

/// What was counted between two readings; `own_swap_bytes` is the later one's.
[[nodiscard]] Pressure pressure_between(const Pressure& begin, const Pressure& end);

/// Counts from its making.
class PressureMeter {
 public:
  explicit PressureMeter(std::filesystem::path root = "/")
      : root_(std::move(root)), begin_(read_pressure(root_)) {}

  [[nodiscard]] Pressure so_far() const { return pressure_between(begin_, read_pressure(root_)); }

 private:
  std::filesystem::path root_;
  Pressure begin_;
};

/// How many CPUs' worth of time the control group, or one above it, allows this process; empty
/// where there is no limit.
[[nodiscard]] std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace ptbench
