#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/flat_pixels.h"
#include "kernels/spec.h"
#include "kernels/tensor.h"

namespace ptbench::amx {

/// y of a convolution, or the gradient of x from y's: for each tap, positions × channels times
/// channels × results, summed in f32 and rounded once. What is multiplied is copied to the line
/// (flat_pixels.h) a few positions at a time, so that each tap reads it elsewhere. Of stride s,
/// every s-th pixel of x, from one of s × s on, is an image of its own.
class PixelProducts {
 public:
  enum class Result { output, input_gradient };
  /// Channels of the spec are whole blocks of 16.
  PixelProducts(const Conv2dSpec& spec, Result result);

  [[nodiscard]] Bytes scratch_bytes() const { return packing_.bytes; }
  /// What run() works on.
  struct Memory {
    const Bf16* factor = nullptr;   ///< x, or y's gradient
    const Bf16* weights = nullptr;  ///< laid out as onednn::paired says, of what is summed over
    const float* bias = nullptr;    ///< null: none
    Bf16* result = nullptr;
    bool add = false;              ///< to what the result holds
    std::byte* scratch = nullptr;  ///< scratch_bytes(), aligned to 64
  };
  void run(const Memory& memory) const;

 private:
  /// What a tap adds to a result at position f: of `source` what lies at f + offset.
  struct Term {
    Size source = 0;
    Size offset = 0;
    Size tap = 0;
  };
  /// An image of results and what they are sums of.
  struct Target {
    flat::Image image;
    std::vector<Term> terms;
  };
  /// How the factor and others lie in the scratch memory.
  struct Packing {
    Size pitch = 0;    ///< elements from position to position
    Size source = 0;   ///< elements from source to source
    Bytes places = 0;  ///< where the results' pixels lie, a pointer a position
    Bytes sums = 0;
    Bytes bytes = 0;  ///< of all
  };

  void plan_output();
  void plan_input_gradient(const Window& window);
  void pack(const Bf16* factor, const Chunk& chunk, Bf16* to) const;
  bool find_places(const Target& target, const Chunk& chunk, Bf16* result, Bf16** places) const;
  void multiply(const Target& target, const Memory& memory, const Bf16* packed,
                Bf16* const* places) const;
  void finish(const Memory& memory, Size block, Size blocks, const float* sums,
              Bf16* const* places) const;

  flat::Geometry geometry_;
  Size depth_;       ///< channels that are summed over
  Size blocks_;      ///< of 16 channels of the result
  Size depth_step_;  ///< elements of weights from 32 summed channels to the next
  Size block_step_;  ///< elements of weights from 16 results to the next
  std::vector<flat::Image> sources_;
  std::vector<Target> targets_;
  Chunk chunk_;
  Packing packing_;
};

}  // namespace ptbench::amx
