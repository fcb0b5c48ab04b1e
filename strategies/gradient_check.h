#pragma once

#include <string>
#include <vector>

#include "strategies/strategy.h"
#include "strategies/update_check.h"

namespace ptbench {

/// How near gradients g have to come to the oracle's, o.
struct GradientBounds {
  /// Where forward and backward pass are the same arithmetic, and only sums have another order:
  /// ‖g − o‖ ≤ distance · ‖Σ|oₖ|‖ in every tensor, where the oracle's micro-batches k give o = Σoₖ:
  /// rounding follows the terms of a sum, however much of them cancels. 0: the arithmetic differs,
  /// and lengths are compared.
  double distance = 1e-5;
  /// Of ‖g‖ / ‖o‖ over the whole gradient and all steps: within 1 ± max(length, 4 standard errors
  /// over the steps), but no more than `most`.
  double length = 0.01;
  /// Of ‖g‖ / ‖o‖ in one tensor, the same; and where its direction is noise, 4 standard deviations
  /// of the length of so many random numbers are allowed.
  double length_of_tensor = 0.02;
  double most = 0.1;
  /// Of ‖g − o‖ / ‖o‖ over the whole gradient and all steps: how far rounding may turn it; 2 is the
  /// opposite direction.
  double turn = 1.9;
};

/// Gathers what is known of gradients, step by step.
///
/// Other arithmetic, as another precision, moves some values over the corner of a ReLU. With every
/// layer more of the gradient then points elsewhere, though it stays as long: of correct bf16
/// gradients the share ‖g − o‖ / ‖o‖ is 0.035 in an mlp with 2 ReLUs, 0.32 in an untrained
/// ResNet-18 with 17 and 1.3 in a ResNet-50 with 49, while ‖g‖ / ‖o‖ is 1.00 ± 0.02 in all. So a
/// wrong scale shows in the length, wrong samples in how far the gradient has turned.
class GradientCheck {
 public:
  explicit GradientCheck(const GradientBounds& bounds) : bounds_(bounds) {}

  /// While the oracle makes a step: its micro-batch `number` has just been added to its gradients.
  /// Needed where forward and backward pass are the same arithmetic.
  void add_term(const Program& oracle, Size number);
  /// After a step of both, of equal state. The scales are what each side's gradients have to be
  /// multiplied by to undo its loss scaling.
  void add(Strategy& tested, double tested_scale, Strategy& oracle, double oracle_scale);

  /// Of same arithmetic: the worst tensor of the step that was added last. Of other arithmetic: the
  /// worst length or direction over all steps.
  [[nodiscard]] Difference worst() const;
  /// ⟨g, o⟩ / ⟨o, o⟩ over all that was added; 1 where the oracle's gradients are zero.
  [[nodiscard]] double slope() const;

 private:
  /// Sums over the elements of one tensor in one step.
  struct Products {
    double tested = 0;      ///< Σ g²
    double oracle = 0;      ///< Σ o²
    double both = 0;        ///< Σ g·o
    double difference = 0;  ///< Σ (g − o)²
    double terms = 0;       ///< Σ (Σ|oₖ|)²
    Products& operator+=(const Products& other);
  };
  struct Tensor {
    std::string name;
    Size elements = 0;
    std::vector<Products> steps;
  };

  [[nodiscard]] Difference worst_distance() const;
  [[nodiscard]] Difference worst_of_all_steps() const;
  /// Over steps: sums, and the standard error of the steps' ratios ‖g‖ / ‖o‖.
  struct Pooled {
    Products sums;
    double error = 0;
    [[nodiscard]] double excess_length() const;  ///< |‖g‖ / ‖o‖ − 1|
  };
  [[nodiscard]] static Pooled pooled(const std::vector<Products>& steps);
  [[nodiscard]] Difference check_whole(const Pooled& whole) const;
  void check_tensor(const Tensor& tensor, const Products& whole, Difference& worst) const;
  [[nodiscard]] std::vector<Products> whole_steps() const;

  GradientBounds bounds_;
  std::vector<Tensor> tensors_;
  std::vector<float> sum_so_far_;  ///< the oracle's gradient arena before its next micro-batch
  std::vector<float> magnitudes_;  ///< Σ|oₖ|, laid out alike; empty where the arithmetic differs
};

}  // namespace ptbench
