#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/operator.h"
#include "src/base/element_type.h"
#include "src/base/sample_values.h"
#include "src/base/size.h"
#include "src/device/host_mirror.h"
#include "src/device/memory.h"
#include "workloads/program.h"

namespace ptbench::dp {

/// The rows of several replicas, and the loss over all rows on the master's device. A single
/// replica's rows stay where its program has them.
class GatheredRows {
 public:
  /// `first`, the master's program, outlives the rows.
  GatheredRows(const Program& first, Size replicas);

  /// On the host, of several replicas, of the type of the programs' data.
  [[nodiscard]] BatchRoom room() const {
    return {.inputs = {inputs_.as<std::byte>(), type_}, .labels = label_copy_.values()};
  }

  // On the master's device, of several replicas.
  [[nodiscard]] std::span<std::byte> logits() const { return logits_buffer_.as<std::byte>(); }
  [[nodiscard]] std::span<const std::byte> logits_gradient() const { return logits_gradient_; }
  [[nodiscard]] std::span<const float> loss() const { return cells_.as<const float>().first(1); }

  /// The labels of several replicas.
  void send_labels() const { label_copy_.send(first_.device().compute()); }
  void set_loss_scale(float scale) const { set_value(first_.device(), loss_scale_, scale); }
  /// loss() becomes these rows' share of the global batch's mean loss.
  void forward() { operator_->forward(); }
  void backward() { operator_->backward(GradientMode::replace); }

 private:
  void allocate_rows(Bytes logits_bytes, Bytes replicas);

  const Program& first_;
  std::unique_ptr<OperatorPlan> plan_;
  ElementType type_;
  std::span<std::byte> logits_gradient_;
  Buffer inputs_;  ///< this and the next four: empty for a single replica
  Buffer labels_buffer_;
  HostMirror<std::int32_t> label_copy_;
  Buffer logits_buffer_;
  Buffer gradient_buffer_;
  Buffer cells_;
  Buffer saved_;
  Buffer scratch_;
  HostMirror<float> loss_scale_;
  std::unique_ptr<Operator> operator_;
};

}  // namespace ptbench::dp
