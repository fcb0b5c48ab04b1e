#pragma once

#include <memory>

#include "kernels/operator.h"

namespace ptbench::reference {

/// Memory that the operator of `spec` keeps from forward to backward, and within one call.
[[nodiscard]] Bytes saved_bytes_of(const OperatorSpec& spec);
[[nodiscard]] Bytes scratch_bytes_of(const OperatorSpec& spec);

/// Broken invariant if numbers of `spec` contradict each other.
void check_numbers(const OperatorSpec& spec);

/// The operator of `spec` on memory whose sizes were checked. Parameters and buffers lie row-major,
/// one tensor after the other.
[[nodiscard]] std::unique_ptr<Operator> make_operator(const OperatorSpec& spec,
                                                      const Bindings& bindings);

}  // namespace ptbench::reference
