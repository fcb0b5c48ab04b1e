#pragma once

#include <optional>

#include "kernels/backend.h"
#include "kernels/cuda/operators.h"

namespace ptbench::cuda {

/// What cuBLASLt reaches on a product of square matrices, 8192 rows each on devices that this fills
/// and as many as memory allows: the median of a few, by the fastest of its first algorithms. The
/// matrices are random numbers, since some hardware multiplies zeros faster, and lie in memory that
/// the device does not count as its own. Takes a fraction of a second, a trial next to nothing;
/// empty where little memory is free. `backend`: of the site, by whose `seconds_of` products are
/// timed.
[[nodiscard]] std::optional<MeasuredPeak> measure_product_peak(const KernelBackend& backend,
                                                               const OperatorSite& site,
                                                               ElementType type, const Clock& clock,
                                                               PeakEffort effort);

}  // namespace ptbench::cuda
