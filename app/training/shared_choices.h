#pragma once

#include "kernels/choose.h"
#include "src/comm/control_channel.h"

namespace ptbench {

/// Rank 0's choices, on all ranks. Waits for rank 0 as long as choosing may take.
[[nodiscard]] Choices share_choices(ControlChannel& control, const Choices& choices);

}  // namespace ptbench
