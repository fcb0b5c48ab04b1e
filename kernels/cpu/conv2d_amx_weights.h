#pragma once

#include <cstddef>

#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/flat_pixels.h"
#include "kernels/spec.h"
#include "kernels/tensor.h"

namespace ptbench::amx {

/// The gradients of a convolution's weights and biases: for each tap, channels × positions of x
/// times positions × outputs of y's gradient, summed in f32. Of both, what lies on a few positions
/// is packed so that positions are what products sum over.
class WeightProducts {
 public:
  explicit WeightProducts(const Conv2dSpec& spec);
  [[nodiscard]] Bytes scratch_bytes() const { return packing_.bytes; }
  /// weights: in the layout onednn::blocked; bias: written where the convolution has one. scratch:
  /// scratch_bytes(), aligned to 64.
  void run(const Bf16* x, const Bf16* y_gradient, float* weights, float* bias,
           std::byte* scratch) const;

 private:
  /// How both factors lie in the scratch memory.
  struct Packing {
    Size pitch = 0;     ///< elements from channel to channel of x
    Size phase = 0;     ///< elements from phase to phase of x
    Size panel = 0;     ///< words from block to block of outputs
    Bytes outputs = 0;  ///< where the gradient of y begins
    Bytes zeros = 0;    ///< where a pixel of nothing begins
    Bytes bytes = 0;    ///< of all
  };
  struct Blocks;

  [[nodiscard]] Size phases() const { return static_cast<Size>(geometry_.phases.size()); }
  void pack_inputs(const Bf16* x, const Chunk& chunk, const Bf16* zeros, Bf16* to) const;
  void pack_outputs(const Bf16* gradient, const Chunk& chunk, const Bf16* zeros,
                    std::uint32_t* to) const;
  void add_biases(const std::uint32_t* outputs, float* bias) const;
  void multiply(const Bf16* inputs, const std::uint32_t* outputs, bool add, float* weights) const;
  void multiply_blocks(const Bf16* inputs, const std::uint32_t* outputs, const Blocks& at, bool add,
                       float* weights) const;

  flat::Geometry geometry_;
  bool bias_;
  Size input_blocks_;
  Size output_blocks_;
  Chunk chunk_;
  Packing packing_;
};

}  // namespace ptbench::amx
