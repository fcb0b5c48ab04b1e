#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/backend.h"

namespace ptbench {

/// The tensors that all candidates of an operator work on while they are timed, with values that
/// look real.
class TrialTensors {
 public:
  /// In the memory of the backend's device, which outlives them.
  TrialTensors(const KernelBackend& backend, const OperatorSpec& spec);
  TrialTensors(const TrialTensors&) = delete;
  TrialTensors& operator=(const TrialTensors&) = delete;
  ~TrialTensors();

  /// Without what depends on the candidate.
  [[nodiscard]] const Bindings& bindings() const { return bindings_; }

 private:
  [[nodiscard]] std::span<std::byte> allocate(Bytes bytes);
  [[nodiscard]] std::span<std::byte> random(const KernelBackend& backend, const TensorSpec& tensor,
                                            std::uint64_t stream);

  Device& device_;
  std::vector<Buffer> buffers_;
  Bindings bindings_;
};

/// What a candidate works on beside the tensors, kept for the next one: touching new memory takes
/// longer than a step.
struct TrialMemory {
  Buffer parameters;
  Buffer gradients;
  Buffer prepared;
  Buffer saved;
  Buffer scratch;
};

/// A candidate as a step would run it: forward, backward, and an update by the owners, since who
/// wrote a weight last decides what reading it costs.
class CandidateTrial {
 public:
  /// `own` belongs to the trial while it lives; backend and tensors outlive it.
  CandidateTrial(const KernelBackend& backend, const OperatorSpec& spec, std::string_view candidate,
                 const TrialTensors& tensors, TrialMemory& own);
  CandidateTrial(const CandidateTrial&) = delete;
  CandidateTrial& operator=(const CandidateTrial&) = delete;
  ~CandidateTrial();

  void step();

 private:
  Device& device_;
  std::unique_ptr<OperatorPlan> plan_;
  std::unique_ptr<Operator> operator_;
  std::unique_ptr<Optimizer> optimizer_;
  Range all_;
};

}  // namespace ptbench
