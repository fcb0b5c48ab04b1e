#pragma once

#include "src/base/units.h"

namespace ptbench {

/// Of x86-64, and of AArch64 with pages of 4 KiB.
inline constexpr Bytes kHugePage = Bytes{2} << 20U;

/// The least multiple of `multiple` that holds `bytes`.
[[nodiscard]] constexpr Bytes round_up_bytes(Bytes bytes, Bytes multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace ptbench
