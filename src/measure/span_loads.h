#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "src/device/cpu_load.h"
#include "src/measure/record.h"

namespace ptbench {

/// Tells the load of slices that are too short to tell it, as turns are: each takes the load of the
/// span of slices that contains it. Time between slices, when others have their turn, is in no
/// span. For slices that follow each other, of one process.
class SpanLoads {
 public:
  SpanLoads();

  /// The last of `slices` was classified without knowing its load; `window`: what the cores did in
  /// it. Fills in the load of slices whose span is long enough now.
  void add(const CpuTimes& window, bool device_unwatched, std::span<SliceRecord> slices);
  /// No more slices come: those that are left take the load of the last span and of themselves
  /// together, or of themselves where they are long enough for it; else it stays unknown.
  void finish(std::span<SliceRecord> slices);

 private:
  void settle(const CpuTimes& span, std::span<SliceRecord> slices);

  struct Waiting {
    std::size_t slice = 0;
    bool device_unwatched = false;
  };

  CpuTimes gathered_;  ///< what happened in the slices that wait
  std::vector<Waiting> waiting_;
  std::optional<CpuTimes> last_;  ///< the span before them
};

/// Whether a window of one slice tells its load by itself.
[[nodiscard]] bool tells_load(const CpuTimes& window);

}  // namespace ptbench
