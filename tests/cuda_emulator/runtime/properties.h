#pragma once

#include "tests/cuda_emulator/ptx/types.h"

// What the emulated devices say of themselves: an A100, but for its name and memory.

namespace ptbench::emulator {

inline constexpr const char* kDeviceName = "emulated sm_80";
inline constexpr U32 kSharedPerBlock = 163U << 10U;  ///< with cudaFuncSetAttribute
inline constexpr U32 kSharedPerSm = 164U << 10U;
inline constexpr int kSms = 108;

}  // namespace ptbench::emulator
