#pragma once

#include <string>

#include "tests/cuda_emulator/cudnn/descriptor.h"

// Plans as text, by which one process hands them to another.

namespace ptbench::emulator {

/// Of the plan of an engine's configuration, which is final: the version of cuDNN, the device and
/// all that the configuration refers to.
[[nodiscard]] std::string text_of(const Descriptor& configuration);

/// Gives an execution plan that was described by a text the configuration in it, and does nothing
/// to another. Throws Refusal as the real cuDNN 9.19 does: CUDNN_STATUS_BAD_PARAM where the text is
/// broken, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH where it is of another version, and
/// CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH where it is of another device.
void restore_plan(Descriptor& plan);

}  // namespace ptbench::emulator
