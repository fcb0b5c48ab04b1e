#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/optimizer.h"
#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "workloads/lower.h"

namespace ptbench {

/// Memory that is needed from one moment to another, both included.
struct Lifetime {
  Bytes bytes = 0;
  Size first = 0;
  Size last = 0;
};

/// Where each piece lies in one piece of memory: pieces whose times overlap do not overlap.
struct Placement {
  std::vector<Bytes> offsets;
  Bytes total = 0;
};

/// Places large pieces first, each at the lowest offset where it fits (greedy by size, as in
/// Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020). Offsets
/// are multiples of `alignment`. At least as large as the most that is alive at once.
[[nodiscard]] Placement place(std::span<const Lifetime> pieces, Bytes alignment);

/// Where the activations of a lowered graph and their gradients lie, in one piece of memory:
/// an activation from the forward pass of its producer to its last reader, be that forward or
/// backward, a gradient from its writer to its reader. What backward no longer needs makes room
/// for gradients. What leaves a graph without a loss is read, and its gradient written, outside,
/// between the passes.
struct ActivationMemory {
  std::vector<Bytes> tensors;                 ///< offset of each tensor
  std::vector<std::vector<Bytes>> gradients;  ///< offset for each operator's inputs; see `needed`
  std::vector<std::vector<bool>> needed;      ///< whether that input has a gradient
  Bytes leaving_gradient = 0;                 ///< offset, where no loss computes it
  Bytes total = 0;
};
[[nodiscard]] ActivationMemory place_activations(const LoweredGraph& graph,
                                                 FunctionRef<Bytes(const TensorSpec&)> bytes_of,
                                                 Bytes alignment = 128);

/// How long a program has the gradients of its parameters.
enum class GradientUse : std::uint8_t {
  /// Each operator's until the gradients of the operator before it are computed: for updates in the
  /// midst of backward. Takes the memory of the largest operator's gradients, and that of operators
  /// whose parameters have padding.
  passing,
  kept,         ///< all of them, until the next backward pass
  accumulated,  ///< likewise, and they can be added up over several backward passes
};

/// Bytes by what they are for; all of them allocated before the first step.
struct MemoryPrediction {
  Bytes parameters = 0;
  Bytes gradients = 0;
  Bytes optimizer = 0;
  Bytes activations = 0;  ///< with their gradients
  Bytes workspace = 0;    ///< of operators, with their scratch
  [[nodiscard]] Bytes total() const {
    return parameters + gradients + optimizer + activations + workspace;
  }
};

/// From shapes alone, before anything is timed or allocated; workspaces are left out.
/// Saturates instead of overflowing, whatever the batch.
[[nodiscard]] MemoryPrediction estimate_memory(const Graph& graph, Size batch, ElementType type,
                                               const OptimizerSpec& optimizer,
                                               GradientUse gradients = GradientUse::kept);

}  // namespace ptbench
