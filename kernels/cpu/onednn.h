#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/spec.h"
#include "kernels/tensor.h"
#include "src/base/shape.h"
#include "src/base/size.h"

/// oneDNN behind ptbench's own words: its headers are included in onednn_library.h alone, for the
/// files called onednn, so that another version of its API is a change there.
namespace ptbench::onednn {

/// "2.6.3".
[[nodiscard]] std::string version();
/// The best instructions that it uses in this process: "avx512_core". No better ones than
/// PTBENCH_ISA allowed when it was first used.
[[nodiscard]] std::string instructions();
/// Whether it multiplies bf16 by AMX in this process: that CPU and kernel let it, and neither
/// PTBENCH_ISA nor its own ONEDNN_MAX_CPU_ISA keeps it from that.
[[nodiscard]] bool has_amx();

/// Type and layout of a weight tensor (outputs × inputs, or outputs × channels × kernel height ×
/// kernel width) or of a rectangular part of one. A value.
class WeightLayout {
 public:
  /// oneDNN's memory descriptor.
  struct Descriptor;
  explicit WeightLayout(std::shared_ptr<const Descriptor> descriptor)
      : descriptor_(std::move(descriptor)) {}

  [[nodiscard]] const Descriptor& descriptor() const { return *descriptor_; }
  /// From the tensor's first byte to its last, padding included.
  [[nodiscard]] Bytes bytes() const;
  /// Names type, blocks and strides; for people and hashes.
  [[nodiscard]] std::string text() const;
  /// These outputs and inputs of the tensor, where they lie in it (pointers stay those of the whole
  /// tensor); empty where the cut would go through a block of the layout.
  [[nodiscard]] std::optional<WeightLayout> part(Range outputs, Range inputs) const;
  friend bool operator==(const WeightLayout& a, const WeightLayout& b);

 private:
  std::shared_ptr<const Descriptor> descriptor_;
};

/// Row-major.
[[nodiscard]] WeightLayout row_major(const Shape& shape, ElementType type);
/// A dimension of a weight tensor.
enum class Side { inputs, outputs };
/// Outputs × channels × kernel in blocks of 16 × 16, padded with zeros; elements of
/// `last` lie side by side (OIhw16i16o, OIhw16o16i).
[[nodiscard]] WeightLayout blocked(const Shape& shape, ElementType type, Side last);
/// bf16 in blocks of 32 of that side × 16 of the other, as AMX multiplies them: 16 pairs × 16 × 2,
/// padded with zeros (OIhw16i16o2i, OIhw16o16i2o).
[[nodiscard]] WeightLayout paired(const Shape& shape, Side side);
/// A matrix outputs × inputs, column by column.
[[nodiscard]] WeightLayout column_major(const Shape& shape, ElementType type);

/// What one thread computes in one go: y from x and W; the gradients of W and b from x and the
/// gradient of y; the gradient of x from that of y and W.
enum class Pass { forward, weights, data };
/// "forward", "weights", "data".
[[nodiscard]] std::string_view name_of(Pass pass);

/// The memory of one pass; "input", "output" and so on are gradients where the pass is about
/// gradients. What a pass writes is const too, as it depends on the pass which one that is. Bias
/// and its gradient are f32.
struct PassMemory {
  const void* input = nullptr;
  const void* weights = nullptr;
  const void* bias = nullptr;
  const void* output = nullptr;
  std::byte* scratchpad = nullptr;  ///< scratchpad_bytes(), aligned to 64
};

/// Ready to run, by one thread at a time; any thread may be the one.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run() = 0;
};

/// In each direction, the results of a tile and the products of an input channel that make them.
struct WinogradTile {
  Size results = 0;
  Size products = 0;
};

/// How one pass is computed by one thread.
class PassPlan {
 public:
  virtual ~PassPlan() = default;
  /// How the weights must lie that it reads, or how those lie that it writes (f32).
  [[nodiscard]] virtual const WeightLayout& weights() const = 0;
  [[nodiscard]] virtual Bytes scratchpad_bytes() const = 0;
  /// Layout and implementation.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Of Winograd's minimal filtering; no results: every product is executed.
  [[nodiscard]] virtual WinogradTile winograd_tile() const { return {}; }
  [[nodiscard]] virtual std::unique_ptr<Kernel> bind(const PassMemory& memory) const = 0;
};

/// y = x·Wᵀ + b with an optional ReLU: x is rows × inputs, y rows × outputs, dense. Gradients of y
/// are taken before the ReLU: the caller masks.
struct InnerProductShape {
  Size rows = 0;
  Size inputs = 0;
  Size outputs = 0;
  bool relu = false;
  ElementType type = ElementType::f32;
  ElementType input_gradient_type = ElementType::f32;
  friend bool operator==(const InnerProductShape&, const InnerProductShape&) = default;
};

/// `weights`: the layout to compute with, or oneDNN's own choice. Null where oneDNN has no
/// optimised kernel for it on this CPU.
[[nodiscard]] std::shared_ptr<const PassPlan> plan_inner_product(
    const InnerProductShape& shape, Pass pass, const std::optional<WeightLayout>& weights);

/// As plan_inner_product; `shape` is what one thread computes, its bias that of this pass. Of a
/// forward pass that adds, the output holds the addend when the pass begins. The caller rectifies.
/// Channels of native images that lie channels last are whole blocks of 16.
[[nodiscard]] std::shared_ptr<const PassPlan> plan_convolution(
    const Conv2dSpec& shape, Pass pass, const std::optional<WeightLayout>& weights);

/// to = from in another layout, or another type; both of the same shape.
[[nodiscard]] std::unique_ptr<Kernel> bind_reorder(const WeightLayout& from, const void* source,
                                                   const WeightLayout& to, void* target);

/// c = op(a)·op(b) + beta·c on one thread, row-major: op(a) is rows × inner, op(b) inner × columns.
struct MatrixProduct {
  bool transpose_a = false;
  bool transpose_b = false;
  Size rows = 0;
  Size columns = 0;
  Size inner = 0;
  float beta = 0;
};
void multiply(const MatrixProduct& product, const float* a, const float* b, float* c);

}  // namespace ptbench::onednn
