#pragma once

#include "strategies/strategy.h"

namespace ptbench {

/// Gives `to` everything that decides a step of `from` beside its data: parameters, running
/// statistics, optimizer state, the number of updates, and the loss scaler where both have the same
/// kind. Both train one graph with one kind of optimizer; where their plans are equal, arenas are
/// copied as they lie, else tensor by tensor.
void copy_training_state(Strategy& from, Strategy& to);

}  // namespace ptbench
