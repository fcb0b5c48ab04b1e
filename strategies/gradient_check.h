#pragma once

#include <optional>
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
  /// Of ‖g‖ / ‖o‖ over the whole gradient and all steps: within 1 ± length. Where it is not, yet
  /// within 12 standard errors over the steps and within `most`, rounding may explain it: a doubt.
  double length = 0.01;
  /// Of ‖g‖ / ‖o‖ in one tensor: within 1 ± max(length_of_tensor, 4 standard errors), but no more
  /// than `most`, beyond which 12 of them and three times as much are a doubt; and where its
  /// direction is noise, 4 standard deviations of the length of so many random numbers are allowed.
  double length_of_tensor = 0.02;
  double most = 0.1;
  /// Of ‖g − o‖ / ‖o‖ over the whole gradient and all steps: how far rounding may turn it; 2 is the
  /// opposite direction.
  double turn = 1.9;
  /// The oracle's loss up to which `turn` holds. Above it softmax is steeper than in usual
  /// training, rounding turns gradients further in proportion, and what is turned further than
  /// `turn` is a doubt. 0: `turn` always holds.
  double usual_loss = 0;
  /// Where both sides compute in fp32, ‖g − o‖ ≤ nearness · (‖o‖ + ‖o of the model‖ / 10) in the
  /// last tensors with a name in common, a layer's weight and bias, in every step. No ReLU stands
  /// behind them whose corner rounding could pass. A loss below 1e-3 widens it in proportion: of
  /// what is nearly certain, 1 − p is rounded. One above `usual_loss` does too. 0: not compared.
  double nearness = 0;
  /// The same of all other tensors, in the best of the steps: a value that passed a corner in some
  /// step is no fault. 0: not compared.
  double nearness_before_corners = 0;
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
  /// The oracle's, of that step.
  void add_loss(double loss) { losses_.push_back(loss); }

  /// Of same arithmetic: the worst tensor of the step that was added last. Of other arithmetic: the
  /// worst length or direction over all steps.
  [[nodiscard]] Difference worst() const;
  /// ⟨g, o⟩ / ⟨o, o⟩ over all that was added; 1 where the oracle's gradients are zero.
  [[nodiscard]] double slope() const;
  /// What is within its bound only because rounding might explain it; of other arithmetic.
  [[nodiscard]] std::optional<std::string> doubt() const;

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
    bool is_last = false;  ///< of the last layer that has any
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
  /// Share of the bound of its distance, where it has one.
  [[nodiscard]] double nearness_share(const Tensor& tensor,
                                      const std::vector<Products>& whole) const;
  /// By how much more than usual rounding may turn gradients: at that loss, and over all steps.
  [[nodiscard]] double steepness_at(double loss) const;
  [[nodiscard]] double steepness() const;
  void check_tensor(const Tensor& tensor, const Products& whole, Difference& worst) const;
  /// Whether nothing of it is left beside the rounding of the whole gradient.
  [[nodiscard]] static bool is_negligible(const Tensor& tensor, const Products& whole);
  /// 4 standard deviations of the length of a direction that is noise, over its length.
  [[nodiscard]] double noise_of_direction(const Tensor& tensor) const;
  [[nodiscard]] std::vector<Products> whole_steps() const;

  GradientBounds bounds_;
  std::vector<Tensor> tensors_;
  std::vector<double> losses_;     ///< by step
  std::vector<float> sum_so_far_;  ///< the oracle's gradient arena before its next micro-batch
  std::vector<float> magnitudes_;  ///< Σ|oₖ|, laid out alike; empty where the arithmetic differs
};

}  // namespace ptbench
