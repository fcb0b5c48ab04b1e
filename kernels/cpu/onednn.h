#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "src/base/size.h"

/// oneDNN behind ptbench's own words: its headers are included in onednn.cpp alone, so that another
/// version of its API is a change there.
namespace ptbench::onednn {

/// "2.6.3".
[[nodiscard]] std::string version();

/// How weights lie in memory: as oneDNN likes best for this shape, or plain, outputs × inputs or
/// inputs × outputs.
enum class WeightLayout { blocked, outputs_inputs, inputs_outputs };

/// y = x·Wᵀ + b with an optional ReLU, on one thread: x is rows × inputs, y rows × outputs, dense.
struct InnerProductShape {
  Size rows = 0;
  Size inputs = 0;
  Size outputs = 0;
  bool relu = false;
  bool input_gradient = true;
};

/// The memory of one inner product. Gradients of y are taken before the ReLU: the caller masks.
struct InnerProductBindings {
  const float* input = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* output = nullptr;
  const float* output_gradient = nullptr;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
  float* input_gradient = nullptr;
  std::byte* scratchpad = nullptr;  ///< scratchpad_bytes(), aligned to 64
};

/// Ready to run, by one thread at a time; any thread may be the one.
class InnerProduct {
 public:
  virtual ~InnerProduct() = default;
  virtual void forward() = 0;
  virtual void backward_weights() = 0;
  virtual void backward_data() = 0;
};

/// All three passes over one weight layout.
class InnerProductPlan {
 public:
  virtual ~InnerProductPlan() = default;
  /// Floats that the weights take, padding included.
  [[nodiscard]] virtual Size weight_elements() const = 0;
  [[nodiscard]] virtual Bytes scratchpad_bytes() const = 0;
  /// The weight layout that oneDNN picked; equal texts mean equal layouts.
  [[nodiscard]] virtual std::string layout() const = 0;
  /// Layout and kernels.
  [[nodiscard]] virtual std::string description() const = 0;
  /// From and to row-major outputs × inputs.
  virtual void import_weights(std::span<const float> row_major, std::span<float> native) const = 0;
  virtual void export_weights(std::span<const float> native, std::span<float> row_major) const = 0;
  [[nodiscard]] virtual std::unique_ptr<InnerProduct> bind(
      const InnerProductBindings& memory) const = 0;
};

/// Null where oneDNN has no optimised kernel for all passes with this layout on this CPU.
[[nodiscard]] std::shared_ptr<const InnerProductPlan> plan_inner_product(
    const InnerProductShape& shape, WeightLayout layout);

}  // namespace ptbench::onednn
