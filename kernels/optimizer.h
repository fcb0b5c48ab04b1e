#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/operator.h"
#include "src/base/size.h"
#include "src/device/queue.h"

namespace ptbench {

enum class OptimizerKind { sgd, adam, adamw };
[[nodiscard]] std::string name_of(OptimizerKind kind);

/// PyTorch's definitions. SGD: v ← m·v + g + w·p, p ← p − lr·v. Adam: bias-corrected moments, ε
/// outside the root, weight decay added to the gradient; AdamW decays p by lr·w instead.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::sgd;
  double lr = 0.01;
  double momentum = 0;  ///< SGD only
  double weight_decay = 0;
  double beta1 = 0.9;  ///< Adam, AdamW
  double beta2 = 0.999;
  double epsilon = 1e-8;
  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;

  /// PyTorch's defaults of `kind`: SGD lr 1e-3, no momentum; Adam lr 1e-3; AdamW lr 1e-3, decay
  /// 1e-2.
  [[nodiscard]] static OptimizerSpec defaults_of(OptimizerKind kind);
  /// Arenas of state it keeps, each as large as the parameters: 0 (plain SGD), 1 (momentum), 2.
  [[nodiscard]] int state_arenas() const;
};

/// The arenas that an optimizer works on; all of one length.
struct OptimizerArenas {
  std::span<float> parameters;
  std::span<const float> gradients;
  std::vector<std::span<float>> state;  ///< state_arenas() of them, zero before the first step
  /// One element, in the same memory: where it is not 0 when an update is done, the update leaves
  /// everything as it is. Empty: every update is made.
  std::span<const float> skip;
};

/// One fused pass over a slice of the arenas.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates the elements of `slice`. `step` counts from 1 (Adam's bias correction). Gradients are
  /// taken times `gradient_scale`, a power of two or 1 (loss scaling is undone here).
  virtual void step(Range slice, Size step, float gradient_scale = 1) = 0;
  /// Whether step_by and update_piece may be called: not where an update may be skipped.
  [[nodiscard]] virtual bool takes_pieces() const { return false; }
  /// As `step`, by gradients that lie elsewhere: as many as `slice` has elements.
  virtual void step_by(std::span<const float> gradients, Range slice, Size step);
  /// As `step_by` of that piece, on the calling thread alone. Several threads may update different
  /// pieces at once.
  virtual void update_piece(std::span<const float> gradients, Range piece, Size step);
  /// As `step`, on another queue than compute(), for devices that have one (Device::beside). That
  /// queue has been ordered after prepare() with these arguments.
  virtual void step_in(Queue& queue, Range slice, Size step, float gradient_scale = 1);
  /// Tells the device, by compute(), with what arguments updates to come are done: before those
  /// that were recorded (Queue::keep) are done again, and before those on another queue.
  virtual void prepare(Size /*step*/, float /*gradient_scale*/ = 1) {}
};

}  // namespace ptbench
