#pragma once

#include <optional>

#include "src/device/cpu_load.h"
#include "src/device/throttling.h"
#include "src/measure/record.h"

namespace ptbench {

/// What the machine did during one slice. Empty: not known.
struct SliceConditions {
  std::optional<double> core_latency_begin = std::nullopt;  ///< seconds, one way; empty on one core
  std::optional<double> core_latency_end = std::nullopt;
  /// Others' share of the time of the cores in use; empty also where the slice is too short to
  /// tell.
  std::optional<double> foreign_cpu_fraction = std::nullopt;
  std::optional<double> steal_fraction = std::nullopt;  ///< taken by the hypervisor; as above
  /// What the cores in use did, from which load is told, of however short a slice.
  std::optional<CpuTimes> cpu_times = std::nullopt;
  std::optional<double> frequency_hertz = std::nullopt;       ///< the lower of both ends
  std::optional<double> mean_frequency_hertz = std::nullopt;  ///< over the slice
  /// Somebody else had a core at either end, so that the latencies tell of no placement.
  bool cores_disturbed = false;
  std::optional<double> joules = std::nullopt;  ///< that the CPU packages used
  // Of devices that are no CPUs, all together:
  std::optional<double> device_temperature_celsius = std::nullopt;  ///< the higher of both ends
  std::optional<ThrottleReasons> device_throttling = std::nullopt;  ///< at either end
  bool device_unwatched = false;  ///< nobody knows whether one was throttled
  std::optional<int> device_other_processes = std::nullopt;  ///< more at either end
  /// Largest share of a device that another process used for a while within the slice.
  std::optional<double> device_foreign_fraction = std::nullopt;
  std::optional<double> device_joules = std::nullopt;
};

/// Looks at the machine at both ends of a slice, outside the time that counts.
class SliceProbe {
 public:
  virtual ~SliceProbe() = default;
  /// Just before the first step of a slice.
  virtual void begin() = 0;
  /// Between two samples of a slice, outside the time that counts.
  virtual void glance() {}
  /// Just after its last.
  [[nodiscard]] virtual SliceConditions end() = 0;
};

/// What a slice lasts, unless it is cut off.
inline constexpr double kSliceSeconds = 0.5;
/// Share of that from which on load would show, so that it can be clean: the kernel counts in ticks
/// of 10 ms.
inline constexpr double kLeastSliceShare = 0.5;
/// What others may use of the cores in a clean slice. A quiet machine's programs took up to 1.3 %,
/// one busy program beside two threads 25 %.
inline constexpr double kCleanForeignFraction = 0.05;
/// One of the kernel's ticks of 10 ms in half a second of two cores, which quiet hypervisors take
/// now and then, but not two of them.
inline constexpr double kCleanStealFraction = 0.015;
/// Stolen share of all slices together, up to which they are quiet; it does not come in ticks.
inline constexpr double kQuietStealFraction = 0.005;
/// Share of a run's slices up to which nobody is warned of what disturbed them: now and then
/// something runs on any machine.
inline constexpr double kRareSlices = 0.05;

/// Fills in what the conditions say of a slice: latency (the worse of both ends), placement,
/// shares, frequency, energy, devices, and whether it is clean: little load of others, no steal,
/// undisturbed cores in one placement, no device that was throttled or shared. Where nothing of
/// that is known to have disturbed it, but load and steal are not known, or whether a device was
/// throttled, nor is whether it is clean. Disturbed cores have no placement. Nobody need know how
/// much others used a device: drivers do not tell in containers, nor apart in turns.
void classify(SliceRecord& slice, const SliceConditions& conditions);

/// Fills in the load of a slice that was classified without knowing it. It is clean at most where
/// devices were watched.
void take_load(SliceRecord& slice, const LoadShares& load, bool device_unwatched = false);

/// Notes in `conditions` what the cores did between two readings of the kernel's counts, and the
/// load where it can be told; nothing where a reading failed.
void note_times(const std::optional<CpuTimes>& begin, const std::optional<CpuTimes>& end,
                SliceConditions& conditions);

/// Whether the slice is known to be clean.
[[nodiscard]] inline bool is_clean(const SliceRecord& slice) { return slice.clean == true; }

/// Whether a device was slower than its settings let it be, at either end of the slice. Reasons of
/// unknown names do not count.
[[nodiscard]] bool is_throttled(const SliceRecord& slice);
/// Whether another process used a device of the slice, by more than kCleanForeignFraction. That it
/// holds the device is not enough.
[[nodiscard]] bool is_shared(const SliceRecord& slice);

}  // namespace ptbench
