#include "src/data/memory_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/device/memory.h"

namespace ptbench {

void check_memory(std::string_view what, Size samples, double bytes_per_sample,
                  const std::string& remedy) {
  // In floating point, since a header may promise products beyond 64 bits.
  const double needed = static_cast<double>(samples) * bytes_per_sample;
  const Bytes available = available_memory();
  if (needed <= static_cast<double>(available)) return;
  constexpr double largest_bytes = 0x1p63;
  throw usage_error(fmt::format("{} needs {} of memory, {} are available", what,
                                format_bytes(static_cast<Bytes>(std::min(needed, largest_bytes))),
                                format_bytes(available)),
                    remedy);
}

}  // namespace ptbench
