#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ptbench {

/// What became of the time of some CPUs, as shares of all of it, 0 to 1.
struct LoadShares {
  double foreign_fraction = 0;  ///< used by others than this process
  double steal_fraction = 0;    ///< taken by the hypervisor
};

/// Time of some CPUs since the machine started, or between two readings, in seconds of one CPU.
struct CpuTimes {
  int cpus = 0;      ///< how many
  double total = 0;  ///< of all together
  double busy = 0;   ///< of it neither idle nor stolen
  double steal = 0;
  double own = 0;      ///< that this process used, on whatever CPU
  double elapsed = 0;  ///< by the clock, for each of them; 0: not known
};

/// What this process has used since it started.
[[nodiscard]] double process_cpu_seconds();

/// Adds up the lines of `cpus` (each once; none: all that are online) in the text of /proc/stat,
/// which counts in ticks. Empty where one is missing (it is offline) or cannot be read. Old kernels
/// have no column for steal: it is 0.
[[nodiscard]] std::optional<CpuTimes> parse_cpu_times(std::string_view stat,
                                                      std::span<const int> cpus,
                                                      double tick_seconds);

/// What happened between two readings of the same CPUs. Empty where a CPU came or went.
[[nodiscard]] std::optional<CpuTimes> time_between(const CpuTimes& begin, const CpuTimes& end);
/// What happened in two windows of the same CPUs together.
[[nodiscard]] CpuTimes operator+(const CpuTimes& one, const CpuTimes& other);

/// The load of a window. Empty where it is shorter than 50 ms, as the kernel counts in ticks of
/// 10 ms. Idle time, which it counts exactly, tells better than ticks what CPUs were busy: that is
/// the rest of the time that passed, where the kernel tells of all of it.
[[nodiscard]] std::optional<LoadShares> load_of(const CpuTimes& window);

/// How busy somebody else keeps CPUs, from its making or its last restart until it is asked. Only
/// its making allocates. For one thread.
class CpuLoad {
 public:
  /// The load of these CPUs; none: of all.
  explicit CpuLoad(std::vector<int> cpus = {});

  void restart() { begin_ = since_boot(); }
  /// Empty where /proc/stat does not tell.
  [[nodiscard]] std::optional<LoadShares> shares() const;
  /// Foreign and steal together.
  [[nodiscard]] std::optional<double> foreign_share() const;
  [[nodiscard]] std::optional<CpuTimes> since_boot() const;

 private:
  std::vector<int> cpus_;           ///< ascending, each once
  mutable std::vector<char> text_;  ///< of the file, as far as it speaks of CPUs
  std::optional<CpuTimes> begin_;
};

}  // namespace ptbench
