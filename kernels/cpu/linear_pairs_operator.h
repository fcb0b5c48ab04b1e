#pragma once

#include <memory>

#include "kernels/cpu/linear_pairs_layout.h"
#include "kernels/operator.h"
#include "src/device/team.h"

namespace ptbench::linear_pairs {

/// The passes of a layer that is laid out so. `team` outlives the operator.
[[nodiscard]] std::unique_ptr<Operator> bind_operator(std::shared_ptr<const Layout> layout,
                                                      const Bindings& bindings, Team& team);

}  // namespace ptbench::linear_pairs
