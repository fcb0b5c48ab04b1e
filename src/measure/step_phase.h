#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// The parts of a training step, as `phases_seconds` calls them.
enum class StepPhase : std::uint8_t {
  data,
  scatter,
  replicate,
  forward,
  gather,
  backward,
  reduce,
  communication,
  optimizer,
  wait,  ///< for slower ranks, before communication with them; a part of `communication_exposed`
};
inline constexpr Size kStepPhases = 10;
[[nodiscard]] std::string_view name_of(StepPhase phase);

}  // namespace ptbench
