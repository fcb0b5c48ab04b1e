#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/convolution_plans.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/operators.h"
#include "src/device/cuda/cuda_device.h"

namespace ptbench::cuda {

/// Whether this backend computes `spec` at all, on whatever device.
[[nodiscard]] bool computes(const OperatorSpec& spec);

/// Operators on one CUDA device: products by cuBLASLt, convolutions by cuDNN, the rest by own
/// kernels. For the thread that made it. The device outlives the backend, which outlives its plans
/// and their operators.
class CudaBackend final : public KernelBackend {
 public:
  explicit CudaBackend(CudaDevice& device);

  [[nodiscard]] std::string name() const override { return "cuda"; }
  [[nodiscard]] Device& device() const override { return device_; }
  /// Of products by cuBLASLt.
  [[nodiscard]] std::optional<MeasuredPeak> measure_peak(ElementType type, const Clock& clock,
                                                         PeakEffort effort) const override;
  [[nodiscard]] std::string fingerprint() const override;
  /// By events of the device, so that what the host does beside it does not count.
  [[nodiscard]] double seconds_of(FunctionRef<void()> work, const Clock& clock) const override;

  /// Native images are batch × height × width × channels (NHWC), as cuDNN's tensor cores want them.
  void import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                     std::span<std::byte> memory) const override;
  void export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                     std::span<float> row_major) const override;

  /// Like `plan`, throws a capability error that names an operator which it does not compute.
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const override;
  [[nodiscard]] std::string safest_candidate(const OperatorSpec& spec) const override;
  [[nodiscard]] bool has_candidate(const OperatorSpec& spec,
                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                   std::string_view candidate) const override;
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override;
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const override;

 private:
  CudaDevice& device_;
  OwnedLibrary library_;
  Cudnn cudnn_;
  ConvolutionPlans convolutions_;
  SmallWork small_work_;
  OperatorSite site_;
  std::unique_ptr<Event> begin_;
  std::unique_ptr<Event> end_;
};

}  // namespace ptbench::cuda
