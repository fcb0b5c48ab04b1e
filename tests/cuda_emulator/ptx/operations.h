#pragma once

// All that translated kernels use.

#include "tests/cuda_emulator/ptx/compare.h"  // IWYU pragma: export
#include "tests/cuda_emulator/ptx/convert.h"  // IWYU pragma: export
#include "tests/cuda_emulator/ptx/kernel.h"   // IWYU pragma: export
#include "tests/cuda_emulator/ptx/memory.h"   // IWYU pragma: export
#include "tests/cuda_emulator/ptx/warp.h"     // IWYU pragma: export
