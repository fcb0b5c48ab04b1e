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
  /// Channels of the spec are whole blocks of 16.
  explicit WeightProducts(const Conv2dSpec& spec);
  [[nodiscard]] Bytes scratch_bytes() const { return packing_.bytes; }
  /// weights: in the layout onednn::blocked with inputs last; bias: written where the convolution
  /// has one. scratch: scratch_bytes(), aligned to 64.
  void run(const Bf16* x, const Bf16* y_gradient, float* weights, float* bias,
           std::byte* scratch) const;

 private:
  /// How both factors lie in the scratch memory.
  struct Packing {
    Size pitch = 0;     ///< elements from output to output
    Size panel = 0;     ///< words from block to block of inputs
    Bytes outputs = 0;  ///< where the gradient of y begins
    Bytes inputs = 0;   ///< where x begins
    Bytes zeros = 0;    ///< where a pixel of nothing begins
    Bytes biases = 0;   ///< where a chunk's gradients of biases begin
    Bytes bytes = 0;    ///< of all
  };
  struct Blocks;

  void pack_inputs(const Bf16* x, const Chunk& chunk, std::byte* scratch) const;
  void pack_outputs(const Bf16* gradient, const Chunk& chunk, std::byte* scratch) const;
  void multiply(const std::byte* scratch, bool add, float* weights) const;
  void multiply_blocks(const std::byte* scratch, const Blocks& at, bool add, float* weights) const;

  flat::Geometry geometry_;
  bool bias_;
  Size input_blocks_;
  Size output_blocks_;
  Size copies_;  ///< of x in words, which begin at even positions, or at odd ones
  Chunk chunk_;
  Packing packing_;
};

}  // namespace ptbench::amx
