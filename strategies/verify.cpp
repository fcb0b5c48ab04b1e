#include "strategies/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "src/device/host_mirror.h"
#include "strategies/norms.h"
#include "strategies/training_state.h"
#include "strategies/update_check.h"
#include "workloads/arena_tensors.h"

namespace ptbench {
namespace {

/// Updates smaller than this, beside the parameters, drown in their rounding.
constexpr double kLeastUpdate = 1e-4;
/// What the learning rate is raised to reach.
constexpr double kWantedUpdate = 1e-3;
constexpr int kMostRaises = 4;

double deviation_norm(std::span<const float> variances) {
  double sum = 0;
  for (const float variance : variances) sum += double{variance};
  return std::sqrt(sum);
}

/// Of rank 0: mean and variance of each batch norm, in this order.
Difference check_statistics(const Program& tested, const Program& oracle, double bound) {
  Difference worst;
  const auto of_tested = read_back(tested.device(), tested.running_statistics());
  const auto of_oracle = read_back(oracle.device(), oracle.running_statistics());
  const std::vector<TensorGroup> left = tensor_groups(tested.plan());
  const std::vector<TensorGroup> right = tensor_groups(oracle.plan());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].statistics.empty()) continue;
    const std::span<const float> ours = statistics_of(tested.plan(), left[i], of_tested.values());
    const std::span<const float> theirs =
        statistics_of(oracle.plan(), right[i], of_oracle.values());
    const std::size_t channels = theirs.size() / 2;
    const std::span<const float> variances = theirs.subspan(channels);
    const auto add = [&](double difference, double scale, std::size_t tensor) {
      worst.keep_worse(share_of(difference, bound * scale), left[i].statistics[tensor].name,
                       "running statistics");
    };
    add(distance_of(ours.first(channels), theirs.first(channels)), deviation_norm(variances), 0);
    add(distance_of(ours.subspan(channels), variances), norm_of(variances), 1);
  }
  return worst;
}

/// NaN counts as infinite.
double largest_gradient(Strategy& strategy) {
  double largest = 0;
  Replica& replica = strategy.replica();
  const auto gradients = read_back(replica.device(), replica.program().gradients());
  for (const float value : gradients.values())
    largest = std::isfinite(value) ? std::max(largest, std::abs(double{value}))
                                   : std::numeric_limits<double>::infinity();
  return largest;
}

/// One comparison, from first step to verdict.
class Verification {
 public:
  Verification(Strategy& tested, Strategy& oracle, VerifiedRanks& ranks,
               const VerificationBounds& bounds, const Clock& clock, ComparedSteps& steps)
      : tested_(tested),
        oracle_(oracle),
        ranks_(ranks),
        bounds_(bounds),
        clock_(clock),
        steps_(steps),
        gradients_(bounds.gradients) {
    tested.replica().keep_gradients(true);
    oracle.replica().keep_gradients(true);
    if (bounds.gradients.distance > 0)
      oracle.replica().after_each_micro_batch([this](Size micro_batch) {
        gradients_.add_term(oracle_.replica().program(), micro_batch);
      });
    record_.status = VerificationStatus::passed;
    record_.tolerance = bounds.tolerance();
    record_.steps = 0;
    record_.max_relative_error = 0;
  }

  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;
  ~Verification() {
    tested_.replica().keep_gradients(false);
    oracle_.replica().keep_gradients(false);
    oracle_.replica().after_each_micro_batch({});
  }

  VerificationRecord run(const std::function<bool()>& keep_going) {
    do {
      ++tried_;
      compare_step();
    } while (record_.status == VerificationStatus::passed && *record_.steps < kAppliedSteps &&
             keep_going());
    if (record_.status == VerificationStatus::passed && bounds_.gradients.distance == 0) {
      const Difference worst = gradients_.worst();
      note(worst);
      if (worst.share > 1) {
        record_.status = VerificationStatus::failed;
        record_.reason = tell(worst);
      }
    }
    if (record_.status == VerificationStatus::passed) say_weak();
    record_.lr = oracle_.replica().step().optimizer.lr;
    return std::move(record_);
  }

 private:
  void compare_step() {
    copy_training_state(oracle_, tested_);
    ranks_.share_state();
    const double tested_scale = 1 / double{tested_.replica().scaler().scale()};
    const double oracle_scale = 1 / double{oracle_.replica().scaler().scale()};
    const Size updates = tested_.updates();
    const double loss = step(tested_, steps_.tested);
    const std::optional<std::string> problem = ranks_.gather_results();
    const bool applied = tested_.updates() != updates;
    // The oracle still stands where both began; its optimizer is the one that was asked for.
    const UpdateCheck update =
        applied ? check_update(oracle_, tested_, oracle_.replica().step().optimizer, updates + 1,
                               tested_scale)
                : UpdateCheck{.worst = check_nothing_changed(oracle_, tested_)};
    const double expected = step(oracle_, steps_.oracle);
    const bool oracle_applied = oracle_.updates() != updates;
    if (!std::isfinite(expected)) {
      unknown(
          fmt::format("{}: the oracle's loss of step {} is {}", kOracleDiverges, tried_, expected));
      return;
    }
    if (problem) {
      unknown(fmt::format("after step {} {}", tried_, *problem));
      return;
    }
    if (applied && tested_.updates() != updates + 1) {
      unknown(fmt::format("after step {}, {} updates have been made, not {}", tried_,
                          tested_.updates(), updates + 1));
      return;
    }
    if (!same_loss(loss, expected)) return;
    if (!applied && !skipped_rightly(update.worst)) return;
    if (scale_alike() && applied != oracle_applied) {
      check_only_one_skipped(applied ? oracle_ : tested_, applied ? tested_ : oracle_);
      return;
    }
    if (!same_scaler() || !applied) return;
    gradients_.add(tested_, tested_scale, oracle_, oracle_scale);
    gradients_.add_loss(expected);
    if (!same_gradient() || !follows_rule(update.worst) || !same_statistics()) return;
    if (raise_rate(update)) return;
    ++*record_.steps;
    if (updates > 0) ++stateful_;
  }

  /// Its loss; `seconds` gets how long it took.
  double step(Strategy& side, std::vector<double>& seconds) {
    const double begin = clock_.now();
    const auto loss = static_cast<double>(side.step());
    seconds.push_back(clock_.now() - begin);
    return loss;
  }

  /// Nothing can be told of the match but that there is none.
  void unknown(std::string reason) {
    record_.max_relative_error = std::nullopt;
    fail(std::move(reason));
  }

  /// In the step that is being compared.
  void fail(std::string reason) {
    record_.status = VerificationStatus::failed;
    record_.reason = std::move(reason);
    ++*record_.steps;
  }

  /// In the scale of the gradients' bound, so that the record holds one number.
  void note(const Difference& difference) {
    const double error = difference.share * *record_.tolerance;
    if (!record_.max_relative_error || error <= *record_.max_relative_error) return;
    record_.max_relative_error = std::isfinite(error) ? std::optional(error) : std::nullopt;
    record_.worst_tensor =
        difference.tensor.empty() ? std::nullopt : std::optional(difference.tensor);
  }

  bool same_loss(double loss, double expected) {
    const double error = std::abs(loss - expected) / std::max(1.0, std::abs(expected));
    note({.share =
              std::isnan(error) ? std::numeric_limits<double>::infinity() : error / bounds_.loss,
          .what = "loss"});
    if (error <= bounds_.loss) return true;  // NaN is no match either
    fail(fmt::format("the loss of step {} is {}, the oracle's {}: more than {:.0e} apart", tried_,
                     loss, expected, bounds_.loss));
    return false;
  }

  bool same_gradient() {
    if (bounds_.gradients.distance == 0) return true;  // judged over all steps
    const Difference worst = gradients_.worst();
    note(worst);
    if (worst.share <= 1) return true;
    fail(tell(worst));
    return false;
  }

  [[nodiscard]] std::string tell(const Difference& worst) const {
    return fmt::format(
        "the {} of '{}' is {:.2g} times as far from the oracle's as rounding explains, {} step {}",
        worst.what, worst.tensor, worst.share, bounds_.gradients.distance > 0 ? "in" : "up to",
        tried_);
  }

  bool follows_rule(const Difference& worst) {
    note(worst);
    if (worst.share <= 1) return true;
    fail(
        fmt::format("the update of '{}' ({}) in step {} is not what its gradient and the "
                    "optimizer's rule give: {:.2g} times as far as rounding explains",
                    worst.tensor, worst.what, tried_, worst.share));
    return false;
  }

  bool same_statistics() {
    const Difference worst = check_statistics(tested_.replica().program(),
                                              oracle_.replica().program(), bounds_.statistics);
    note(worst);
    if (worst.share <= 1) return true;
    fail(fmt::format("'{}' differs from the oracle's after step {} by {:.2g} times its bound",
                     worst.tensor, tried_, worst.share));
    return false;
  }

  /// A step that loss scaling skips changes nothing, and has a reason.
  bool skipped_rightly(const Difference& changed) {
    if (changed.share > 0) {
      fail(fmt::format("step {} was skipped by loss scaling, yet '{}' ({}) changed", tried_,
                       changed.tensor, changed.what));
      return false;
    }
    if (!std::isfinite(largest_gradient(tested_))) return true;
    fail(fmt::format("step {} was skipped although its gradients are finite", tried_));
    return false;
  }

  [[nodiscard]] bool scale_alike() const {
    const LossScaleSpec& spec = oracle_.replica().step().loss_scale;
    return tested_.replica().scaler().active() && spec == tested_.replica().step().loss_scale;
  }

  /// Sums in another order may overflow where gradients nearly do; then the step shows nothing.
  void check_only_one_skipped(Strategy& skipped, Strategy& applied) {
    constexpr double kNearOverflow = std::numeric_limits<float>::max() / 16.0;
    const double largest = largest_gradient(applied);
    if (std::isfinite(largest) && largest > kNearOverflow) return;
    const bool is_tested = &skipped == &tested_;
    fail(fmt::format("step {} was {}skipped by loss scaling, the oracle's was {}", tried_,
                     is_tested ? "" : "not ", is_tested ? "not" : "skipped"));
  }

  /// Which decides the scales of the steps to come.
  bool same_scaler() {
    if (!scale_alike() || tested_.replica().scaler() == oracle_.replica().scaler()) return true;
    unknown(
        fmt::format("after step {} the loss scaler is not in the state of the oracle's", tried_));
    return false;
  }

  /// Whether the step is to be made again with a rate at which an update can be seen.
  bool raise_rate(const UpdateCheck& update) {
    is_visible_ = update.update_norm >= kLeastUpdate * update.parameter_norm;
    if (is_visible_ || raises_ == kMostRaises) return false;
    ++raises_;
    constexpr double kBlindly = 100;  // where nothing moved, nobody knows how much is enough
    constexpr double kUsualRate = 1e-2;
    const double ratio = update.update_norm / update.parameter_norm;
    const double factor = ratio > 0 ? std::min(kWantedUpdate / ratio, 1e6) : kBlindly;
    const double lr = oracle_.replica().step().optimizer.lr;
    const double raised = lr > 0 ? lr * factor : kUsualRate;
    // A tested side that has another rate keeps being as far from the oracle's.
    const double of_tested = tested_.replica().step().optimizer.lr;
    tested_.replica().set_learning_rate(moved_rate(of_tested, lr, raised));
    oracle_.replica().set_learning_rate(raised);
    return true;
  }

  void say_weak() {
    const bool is_known = bounds_.gradients.distance > 0 || gradients_.slope() >= kWeakDirection;
    const std::optional<std::string> doubt = gradients_.doubt();
    if (*record_.steps >= kAppliedSteps && stateful_ >= kStatefulSteps && is_visible_ && is_known &&
        !doubt)
      return;
    record_.status = VerificationStatus::weak;
    if (doubt)
      record_.reason = doubt;
    else if (!is_known)
      record_.reason = fmt::format(
          "rounding turns gradients too far for more than their length to be compared: their slope "
          "against the oracle's is {:.2f}",
          gradients_.slope());
    else if (!is_visible_ && *record_.steps > 0)
      record_.reason = "updates are too small beside the parameters to be compared";
    else
      record_.reason = fmt::format(
          "{} steps could be compared, {} of them with optimizer state: {} and {} are "
          "wanted",
          *record_.steps, stateful_, kAppliedSteps, kStatefulSteps);
  }

  Strategy& tested_;
  Strategy& oracle_;
  VerifiedRanks& ranks_;
  VerificationBounds bounds_;
  const Clock& clock_;
  ComparedSteps& steps_;
  GradientCheck gradients_;
  VerificationRecord record_;
  Size tried_ = 0;     ///< steps, skipped and repeated ones among them
  Size stateful_ = 0;  ///< compared steps that began with optimizer state
  int raises_ = 0;
  bool is_visible_ = false;  ///< the last update
};

}  // namespace

VerificationRecord verify(Strategy& tested, Strategy& oracle, VerifiedRanks& ranks,
                          const VerificationBounds& bounds, const std::function<bool()>& keep_going,
                          const Clock& clock, ComparedSteps& steps) {
  return Verification(tested, oracle, ranks, bounds, clock, steps).run(keep_going);
}

}  // namespace ptbench
