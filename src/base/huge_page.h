#pragma once

#include "src/base/size.h"

namespace ptbench {

/// Of x86-64, and of AArch64 with pages of 4 KiB.
inline constexpr Bytes kHugePage = Bytes{2} << 20U;

}  // namespace ptbench
