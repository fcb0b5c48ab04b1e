#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "kernels/spec.h"

// Convolutions as cuDNN plans and computes them. Images are batch × height × width × channels
// (NHWC), weights outputs × height × width × channels, both without gaps.
namespace ptbench::cuda {

enum class ConvolutionPass : std::uint8_t {
  forward,  ///< y = x ∗ W (+ bias) (+ addend), rectified where the spec says so
  data,     ///< the gradient of x from that of y
  weights,  ///< the gradient of W, in f32, from x and the gradient of y
};

/// The convolution of `spec` as cuDNN computes it: plain images are packed for it, with channels
/// padded to 16 bytes, as tensor cores want them.
[[nodiscard]] Conv2dSpec packed(const Conv2dSpec& spec);

/// Which device convolutions are planned for: that of `handle`, or, without one, the device that a
/// descriptor of properties tells of, so that plans can be made where there is no GPU.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// A way to compute one pass. Immutable.
class ConvolutionPlan {
 public:
  /// What a plan refers to: tensors, operations, their graph and an engine with its settings.
  struct Parts {
    std::shared_ptr<const std::vector<Descriptor>> graph;
    Descriptor configuration;
    Descriptor plan;
  };
  ConvolutionPlan(Parts parts, std::string description);

  [[nodiscard]] Bytes workspace() const { return workspace_; }
  /// Engine and settings: equal ones compute the same bits on one device and version.
  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] cudnnBackendDescriptor_t get() const { return parts_.plan.get(); }

 private:
  Parts parts_;
  Bytes workspace_;
  std::string description_;
};

/// Up to `most` ways to compute a pass of `spec`, whose images are as said above (`plain_input` is
/// not looked at). Narrow images have a gradient of W in f32 only by engines that cuDNN compiles
/// when it makes the plan, which it may not be able to; the one first that cuDNN expects to be the
/// fastest. All of them repeat every bit and multiply in the type of the spec: no tf32 for f32,
/// no transforms (Winograd, Fourier). A function of spec, library version and device. Empty where
/// cuDNN has none.
[[nodiscard]] std::vector<std::shared_ptr<const ConvolutionPlan>> plan_convolution(
    const CudnnTarget& target, const Conv2dSpec& spec, ConvolutionPass pass, std::size_t most);

/// Device memory of a convolution, of which each pass reads two and writes the third. All of the
/// type of images but for the gradient of W in f32.
struct ConvolutionOperands {
  const void* x = nullptr;         ///< or its gradient
  const void* weights = nullptr;   ///< or their gradient
  const void* y = nullptr;         ///< or its gradient
  const void* bias = nullptr;      ///< an element an output, of a forward pass that adds one
  const void* addend = nullptr;    ///< as y, of a forward pass that adds one
  std::span<std::byte> workspace;  ///< as much as the plan needs, at kWorkspaceAlignment
};

/// A plan with its memory. Move-only; `cudnn` outlives it.
class Convolution {
 public:
  Convolution(Cudnn& cudnn, std::shared_ptr<const ConvolutionPlan> plan,
              const ConvolutionOperands& operands);
  /// Gives it to the device's stream.
  void run() const;

 private:
  Cudnn* cudnn_;  ///< a pointer, so that it can be moved to
  std::shared_ptr<const ConvolutionPlan> plan_;
  Descriptor memory_;
};

}  // namespace ptbench::cuda
