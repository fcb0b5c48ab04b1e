#pragma once

#include <span>

#include "charts/chart.h"

namespace ptbench {

/// Gives each series of `charts` its look: one to each thing. Things of one chart differ in colour
/// as long as there are colours. Parts of bars, thin lines and all other series have numbers of
/// their own, as they are drawn by other means.
void give_looks(std::span<Chart> charts);

}  // namespace ptbench
