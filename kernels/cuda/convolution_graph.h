#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "kernels/spec.h"

// Convolutions as cuDNN is told of them. Images are batch × height × width × channels (NHWC),
// weights outputs × height × width × channels, both without gaps.
namespace ptbench::cuda {

enum class ConvolutionPass : std::uint8_t {
  forward,  ///< y = x ∗ W (+ bias) (+ addend), rectified where the spec says so
  data,     ///< the gradient of x from that of y
  weights,  ///< the gradient of W, in f32, from x and the gradient of y
};

[[nodiscard]] std::string_view name_of(ConvolutionPass pass);

/// The convolution of `spec` as cuDNN computes it: plain images are packed for it, with channels
/// padded to 16 bytes, as tensor cores want them.
[[nodiscard]] Conv2dSpec packed(const Conv2dSpec& spec);

/// Which device convolutions are planned for: that of `handle`, or, without one, the device that a
/// descriptor of properties tells of, so that plans can be made where there is no GPU.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// By which a plan finds its tensors in memory.
struct TensorIds {
  static constexpr std::int64_t kX = 1;
  static constexpr std::int64_t kWeights = 2;
  static constexpr std::int64_t kY = 3;
  static constexpr std::int64_t kBias = 4;
  static constexpr std::int64_t kAddend = 5;
};

/// All descriptors of a pass of `spec`, whose images are as said above (`plain_input` is not looked
/// at); the last one is the graph of its operations.
[[nodiscard]] std::vector<Descriptor> graph_of(const CudnnTarget& target, const Conv2dSpec& spec,
                                               ConvolutionPass pass);

}  // namespace ptbench::cuda
