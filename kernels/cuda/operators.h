#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/small_work.h"
#include "kernels/operator.h"
#include "src/device/cuda/cuda_device.h"

// The operators on a CUDA device: whoever adds a spec declares how it is planned here, and defines
// it in a file of its own. All of them compute on activations in f32, bf16 and f16.
namespace ptbench::cuda {

/// Floats at which parts of an operator's slice of an arena begin: 64 bytes.
inline constexpr Size kArenaUnit = 16;

class ConvolutionPlans;

/// What operators run on; it outlives plans and their operators.
struct OperatorSite {
  CudaDevice& device;
  cublasLtHandle_t library;
  Cudnn& cudnn;
  ConvolutionPlans& convolutions;
  SmallWork& small_work;
};

// Operators that are computed in several ways: the candidates, the safest bet first, and the plan
// of one, null where there is no such candidate.

/// Candidates are named "forward=I weights=I data=I" (data only where the input's gradient is
/// wanted): of each product the algorithm that comes I-th in cuBLASLt's own order. Before them, for
/// layers of up to 256 weights and 256 samples, comes "direct": an own kernel a pass.
///
/// The arena holds the weight as it is exported, then from a multiple of 16 floats on the bias. In
/// narrow types the products take both from a rounded copy of the arena: cuBLASLt adds biases of
/// the result's type.
[[nodiscard]] std::vector<std::string> candidates_of(const LinearSpec& spec,
                                                     const OperatorSite& site);
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const LinearSpec& spec,
                                                          std::string_view candidate,
                                                          const OperatorSite& site);

/// Candidates are named "forward=PLAN weights=PLAN data=PLAN" (data only where the input's gradient
/// is wanted): of each pass an engine of cuDNN with its settings, as ConvolutionPlan::name tells
/// it. Up to two of a pass, in cuDNN's own order. Bias, addend and ReLU are in the forward pass's
/// graph; backward, the gradient in front of the ReLU is written first.
///
/// Planning a candidate finalizes its plans and no others, each once in a backend's life.
///
/// The arena holds the weight as outputs × height × width × channels, then from a multiple of 16
/// floats on the bias. Channels of plain images are padded to 16 bytes; what is padded is zero, and
/// so is its gradient.
[[nodiscard]] std::vector<std::string> candidates_of(const Conv2dSpec& spec,
                                                     const OperatorSite& site);
/// The first of them. Finalizes one plan of each pass.
[[nodiscard]] std::string safest_candidate_of(const Conv2dSpec& spec, const OperatorSite& site);
/// Whether cuDNN has the plans that `candidate` names, be it among the first ones or not.
[[nodiscard]] bool is_candidate_of(const Conv2dSpec& spec, std::string_view candidate,
                                   const OperatorSite& site);
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const Conv2dSpec& spec,
                                                          std::string_view candidate,
                                                          const OperatorSite& site);

// Operators that are computed in one way.

/// max(0, x); NaN stays NaN.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const ReluSpec& spec,
                                                          const OperatorSite& site);

/// γ·(x - mean)/√(variance + ε) + β, then + the second input and max(0, ·). The
/// arena holds γ, then from a multiple of 16 floats on β.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const BatchNormSpec& spec,
                                                          const OperatorSite& site);

/// x·Φ(x) by the error function.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const GeluSpec& spec,
                                                          const OperatorSite& site);

[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const AddSpec& spec,
                                                          const OperatorSite& site);

/// Throws a capability error where more gradients are added up than a kernel takes.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const ForkSpec& spec,
                                                          const OperatorSite& site);

/// Pools without atomics: backward, each pixel of the input asks the windows that cover it. A max
/// pool's saved memory keeps where each window found its largest value.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const PoolSpec& spec,
                                                          const OperatorSite& site);

/// Copies and casts, or transposes of channels and pixels.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const ReorderSpec& spec,
                                                          const OperatorSite& site);

/// Softmax with cross-entropy, a warp a sample; the loss is summed in double, in a fixed order. A
/// launch a pass.
[[nodiscard]] std::unique_ptr<OperatorPlan> plan_operator(const SoftmaxCrossEntropySpec& spec,
                                                          const OperatorSite& site);

}  // namespace ptbench::cuda
