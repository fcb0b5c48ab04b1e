#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/convolution_graph.h"
#include "kernels/cuda/cudnn.h"

// Plans of convolutions, and convolutions on given memory.
namespace ptbench::cuda {

/// A way to compute one pass. Immutable; for the thread that made it, since cuDNN does not promise
/// that two threads may execute one plan at once.
class ConvolutionPlan {
 public:
  /// What a plan refers to: tensors, operations, their graph and an engine with its settings; a
  /// plan that was restored refers to nothing.
  struct Parts {
    std::shared_ptr<const std::vector<Descriptor>> graph;
    std::optional<Descriptor> configuration;
    Descriptor plan;
  };
  ConvolutionPlan(Parts parts, std::string name);

  [[nodiscard]] Bytes workspace() const { return workspace_; }
  /// Engine and settings in one word: "34,2:5,14:4" is engine 34 with knob 2 at 5 and knob 14 at 4.
  /// Equal ones compute the same bits on one device and version.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// What restores the plan, compiled code included; empty where cuDNN does not give it.
  [[nodiscard]] std::optional<std::string> text() const;
  [[nodiscard]] cudnnBackendDescriptor_t get() const { return parts_.plan.get(); }

 private:
  Parts parts_;
  Bytes workspace_;
  std::string name_;
};

/// An engine with its settings for a graph, made ready to run, which compiles it where the engine
/// is one that cuDNN compiles. Null where cuDNN finds only now that it does not fit.
[[nodiscard]] std::shared_ptr<const ConvolutionPlan> finalized_plan(
    const CudnnTarget& target, const std::shared_ptr<const std::vector<Descriptor>>& graph,
    Descriptor configuration, std::string name);

/// The plan of that name out of its text, without compiling. Null where cuDNN refuses the text: it
/// is broken, or of another device, driver or version.
[[nodiscard]] std::shared_ptr<const ConvolutionPlan> restored_plan(const CudnnTarget& target,
                                                                   std::string_view text,
                                                                   std::string name);

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
