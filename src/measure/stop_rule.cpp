#include "src/measure/stop_rule.h"

#include "src/measure/slice_probe.h"

namespace ptbench {

bool CleanSlices::should_stop(const Evidence& evidence) {
  if (evidence.measured_seconds < least_seconds_) return false;
  return std::ranges::any_of(evidence.slices, [&](const SliceRecord& one) {
    return std::ranges::count_if(evidence.slices, [&](const SliceRecord& other) {
             return is_clean(other) && other.placement == one.placement;
           }) >= slices_;
  });
}

}  // namespace ptbench
