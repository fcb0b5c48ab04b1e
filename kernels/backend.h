#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arena_passes.h"
#include "kernels/operator.h"
#include "kernels/optimizer.h"
#include "kernels/tensor.h"
#include "src/base/clock.h"
#include "src/base/function_ref.h"
#include "src/device/device.h"

namespace ptbench {

/// What a device reaches on multiply-adds.
struct MeasuredPeak {
  double flops_per_second = 0;
  std::string of;  ///< of what: "multiply-adds, threads: 2"
};

/// How a peak is measured: a trial shows that it can be, on little data, and what it finds says
/// nothing.
enum class PeakEffort : std::uint8_t { trial, full };

/// The operators of one kind of device. `reference` is the oracle of the others.
class KernelBackend {
 public:
  virtual ~KernelBackend() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// In whose memory operators, optimizers and passes find all that they are bound to, and whose
  /// queue for computing they give their work to. It outlives the backend.
  [[nodiscard]] virtual Device& device() const = 0;
  /// What the device reaches on multiply-adds of `type`, measured now; empty where it cannot be
  /// measured.
  [[nodiscard]] virtual std::optional<MeasuredPeak> measure_peak(ElementType /*type*/,
                                                                 const Clock& /*clock*/,
                                                                 PeakEffort /*effort*/) const {
    return std::nullopt;
  }
  /// Seconds that `work`, operators of this backend, takes by `clock` until the device has done it;
  /// where it lasts long enough to be interrupted, and the backend can tell, without what other
  /// programs took meanwhile.
  [[nodiscard]] virtual double seconds_of(FunctionRef<void()> work, const Clock& clock) const {
    device().finish();
    const double begin = clock.now();
    work();
    device().finish();
    return clock.now() - begin;
  }
  /// What plans depend on beyond the shapes: library versions, instruction set, team size.
  [[nodiscard]] virtual std::string fingerprint() const = 0;

  /// Memory that a tensor takes, padding included. Here: row-major, nothing padded.
  [[nodiscard]] virtual Bytes bytes_of(const TensorSpec& tensor) const;
  /// Row-major floats to and from the tensor's memory, as a HostMirror has it; importing rounds to
  /// its type and zeroes the padding. For tests and tools, not for steps.
  virtual void import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                             std::span<std::byte> memory) const;
  virtual void export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                             std::span<float> row_major) const;

  /// The ways in which this backend can compute `spec`, the safest bet first; never empty. May take
  /// long, where a library compiles what it offers.
  [[nodiscard]] virtual std::vector<std::string> candidates(const OperatorSpec& spec) const = 0;
  /// The first of them, without preparing the others.
  [[nodiscard]] virtual std::string safest_candidate(const OperatorSpec& spec) const;
  /// Whether `candidate`, which was chosen by another process, can be planned; without preparing
  /// the others.
  [[nodiscard]] virtual bool has_candidate(const OperatorSpec& spec,
                                           std::string_view candidate) const;
  /// A pure function of its arguments. Throws a usage error for a candidate that it does not have.
  [[nodiscard]] virtual std::unique_ptr<OperatorPlan> plan(const OperatorSpec& spec,
                                                           std::string_view candidate) const = 0;
  /// `owned`: who updates which range, as the operators' layouts say, ascending.
  [[nodiscard]] virtual std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const = 0;
  /// Work on an arena besides the update, by the same owners.
  [[nodiscard]] virtual std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> arena, const std::vector<OwnedRange>& owned) const = 0;
};

}  // namespace ptbench
