#include "strategies/update_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/reference/reference_optimizer.h"
#include "src/base/error.h"
#include "src/device/host_mirror.h"
#include "strategies/norms.h"
#include "workloads/arena_tensors.h"

namespace ptbench {
namespace {

constexpr double kOfUpdate = 1e-6;
/// A float's ulp is at most this share of it.
constexpr double kUlp = std::numeric_limits<float>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One operator's tensors in every arena of a training: parameters, then optimizer state.
using Arenas = std::vector<std::vector<std::vector<float>>>;

/// A training's arenas as the host sees them, and how they lie.
class TrainingView {
 public:
  explicit TrainingView(Replica& replica)
      : plan_(replica.program().plan()),
        groups_(tensor_groups(plan_)),
        gradients_(read_back(replica.device(), replica.program().gradients())) {
    arenas_.push_back(read_back(replica.device(), replica.program().parameters()));
    for (const std::span<float> state : replica.optimizer_state())
      arenas_.push_back(read_back(replica.device(), state));
  }

  [[nodiscard]] const std::vector<TensorGroup>& groups() const { return groups_; }
  [[nodiscard]] Arenas arenas_of(std::size_t group) const {
    Arenas arenas;
    for (const HostMirror<float>& arena : arenas_)
      arenas.push_back(export_arena(plan_, groups_[group], arena.values()));
    return arenas;
  }
  [[nodiscard]] std::vector<std::vector<float>> gradients_of(std::size_t group) const {
    return export_arena(plan_, groups_[group], gradients_.values());
  }

 private:
  const ProgramPlan& plan_;
  std::vector<TensorGroup> groups_;
  HostMirror<float> gradients_;
  std::vector<HostMirror<float>> arenas_;  ///< parameters, then optimizer state
};

/// One tensor before an update, and what the rule makes of it.
struct RuleUpdate {
  std::vector<float> parameters;          ///< before
  std::vector<std::vector<float>> state;  ///< before
  std::vector<float> gradients;
  std::vector<float> new_parameters;
  std::vector<std::vector<float>> new_state;
};

void apply_rule(const OptimizerSpec& optimizer, Size update, RuleUpdate& tensor) {
  tensor.new_parameters = tensor.parameters;
  tensor.new_state = tensor.state;
  OptimizerArenas arenas{
      .parameters = tensor.new_parameters, .gradients = tensor.gradients, .state = {}};
  for (std::vector<float>& state : tensor.new_state) arenas.state.emplace_back(state);
  ReferenceOptimizer(optimizer, arenas)
      .step({0, static_cast<Size>(tensor.gradients.size())}, update);
}

constexpr std::size_t kMostStates = 2;  // Adam's moments

/// How far rounding may take one element: a few ulps of the terms that are added up, carried
/// through the division by Adam's root.
struct Rounding {
  double parameter = 0;
  std::array<double, kMostStates> state{};
};

/// What Adam's moments are divided by in that update, as they began at zero.
struct BiasCorrection {
  BiasCorrection(const OptimizerSpec& optimizer, Size update)
      : first(1 - std::pow(optimizer.beta1, static_cast<double>(update))),
        second(1 - std::pow(optimizer.beta2, static_cast<double>(update))) {}
  double first;
  double second;
};

Rounding rounding_of(const OptimizerSpec& optimizer, const BiasCorrection& correction,
                     const RuleUpdate& tensor, std::size_t i) {
  constexpr double kFew = 4 * kUlp;
  const double parameter =
      std::max(std::abs(double{tensor.parameters[i]}), std::abs(double{tensor.new_parameters[i]}));
  const double decay = optimizer.kind == OptimizerKind::adamw ? 0 : optimizer.weight_decay;
  const double gradient = std::abs(double{tensor.gradients[i]}) + decay * parameter;
  if (optimizer.kind == OptimizerKind::sgd) {
    if (tensor.state.empty()) return {2 * kUlp * parameter + kFew * optimizer.lr * gradient, {}};
    const double velocity = gradient + optimizer.momentum * std::abs(double{tensor.state[0][i]});
    return {2 * kUlp * parameter + kFew * optimizer.lr * velocity, {kFew * velocity}};
  }
  const double first =
      optimizer.beta1 * std::abs(double{tensor.state[0][i]}) + (1 - optimizer.beta1) * gradient;
  const double second =
      optimizer.beta2 * double{tensor.state[1][i]} + (1 - optimizer.beta2) * gradient * gradient;
  // Where a gradient cancels against its decay, little is left below the root.
  const double square = std::max<double>(tensor.new_state[1][i], std::numeric_limits<float>::min());
  const double root = std::sqrt(square / correction.second) + optimizer.epsilon;
  const double moved = optimizer.lr * first / correction.first / root;
  return {2 * kUlp * parameter + kFew * moved * (1 + second / square),
          {kFew * first, kFew * second}};
}

/// 0 and −0 differ.
bool are_same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float one, float other) {
    return std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other);
  });
}

std::string name_of_state(std::size_t index) {
  return fmt::format("optimizer state {}", index + 1);
}

/// `after`: what the tested training has, parameters first.
void check_tensor(const OptimizerSpec& optimizer, Size update, const RuleUpdate& rule,
                  const std::vector<std::span<const float>>& after, const std::string& name,
                  Difference& worst) {
  // Numbers below the smallest normal one may be taken as zero.
  constexpr double kTiny = 4.0 * std::numeric_limits<float>::min();
  const double of_update = kOfUpdate * distance_of(rule.new_parameters, rule.parameters) + kTiny;
  const std::size_t states = rule.new_state.size();
  ensure(states <= kMostStates, "an optimizer has at most two states");
  std::array<double, kMostStates> of_state{};
  for (std::size_t state = 0; state < states; ++state)
    of_state.at(state) = kOfUpdate * norm_of(rule.new_state[state]) + kTiny;
  const BiasCorrection correction(optimizer, update);
  double worst_parameter = 0;
  std::array<double, kMostStates> worst_state{};
  for (std::size_t i = 0; i < rule.parameters.size(); ++i) {
    const Rounding rounding = rounding_of(optimizer, correction, rule, i);
    const auto share = [&](std::span<const float> values, const std::vector<float>& expected,
                           double allowed) {
      return share_of(std::abs(double{values[i]} - double{expected[i]}), allowed);
    };
    worst_parameter = std::max(
        worst_parameter, share(after[0], rule.new_parameters, of_update + rounding.parameter));
    for (std::size_t state = 0; state < states; ++state)
      worst_state[state] = std::max(
          worst_state[state],
          share(after[state + 1], rule.new_state[state], of_state[state] + rounding.state[state]));
  }
  worst.keep_worse(worst_parameter, name, "parameters");
  for (std::size_t state = 0; state < states; ++state)
    worst.keep_worse(worst_state[state], name, name_of_state(state));
}

}  // namespace

void Difference::keep_worse(double other, const std::string& in, const std::string& of) {
  const double known = std::isfinite(other) ? other : kInfinity;
  if (known > share) *this = {.share = known, .tensor = in, .what = of};
}

UpdateCheck check_update(Strategy& before, Strategy& tested, const OptimizerSpec& optimizer,
                         Size update, double gradient_scale) {
  UpdateCheck check;
  const TrainingView from(before.replica());
  const TrainingView to(tested.replica());
  for (std::size_t i = 0; i < to.groups().size(); ++i) {
    const Arenas old = from.arenas_of(i);
    const Arenas after = to.arenas_of(i);
    auto gradients = to.gradients_of(i);
    for (std::size_t tensor = 0; tensor < gradients.size(); ++tensor) {
      RuleUpdate rule{
          .parameters = old[0][tensor], .state = {}, .gradients = std::move(gradients[tensor])};
      for (float& gradient : rule.gradients)
        gradient = static_cast<float>(gradient * gradient_scale);
      std::vector<std::span<const float>> values{after[0][tensor]};
      for (std::size_t arena = 1; arena < old.size(); ++arena) {
        rule.state.push_back(old[arena][tensor]);
        values.emplace_back(after[arena][tensor]);
      }
      apply_rule(optimizer, update, rule);
      check_tensor(optimizer, update, rule, values, to.groups()[i].parameters[tensor].name,
                   check.worst);
      check.update_norm =
          std::hypot(check.update_norm, distance_of(rule.new_parameters, rule.parameters));
      check.parameter_norm = std::hypot(check.parameter_norm, norm_of(rule.parameters));
    }
  }
  return check;
}

Difference check_nothing_changed(Strategy& before, Strategy& tested) {
  Difference worst;
  const TrainingView from(before.replica());
  const TrainingView to(tested.replica());
  for (std::size_t i = 0; i < to.groups().size(); ++i) {
    const Arenas old = from.arenas_of(i);
    const Arenas after = to.arenas_of(i);
    for (std::size_t arena = 0; arena < old.size(); ++arena)
      for (std::size_t tensor = 0; tensor < old[arena].size(); ++tensor)
        if (!are_same_bits(old[arena][tensor], after[arena][tensor]))
          worst.keep_worse(kInfinity, to.groups()[i].parameters[tensor].name,
                           arena == 0 ? "parameters" : name_of_state(arena - 1));
  }
  return worst;
}

}  // namespace ptbench
