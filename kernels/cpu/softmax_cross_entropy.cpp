#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/cpu/operators.h"
#include "kernels/cpu/partition.h"

namespace ptbench {
namespace {

constexpr Size kExponentialCost = 16;  // simple operations that one exponential is worth

/// In the saved memory the members' sums lie in front, then the probabilities.
Bytes losses_bytes(int members) {
  return round_up(static_cast<Bytes>(members) * sizeof(double), 64);
}

float load(const float* from) { return *from; }
float load(const Bf16* from) { return to_float(*from); }
void store(float* to, float value) { *to = value; }
void store(Bf16* to, float value) { *to = to_bf16(value); }

/// T: element type of the logits and of their gradient.
template <class T>
class SoftmaxCrossEntropy final : public Operator {
 public:
  SoftmaxCrossEntropy(const SoftmaxCrossEntropySpec& spec, const Bindings& bindings, Team& team,
                      int members)
      : spec_(spec), bindings_(bindings), team_(team), members_(members) {
    losses_ = elements<double>(bindings.saved).first(static_cast<std::size_t>(members));
    probabilities_ = reinterpret_cast<float*>(bindings.saved.data() + losses_bytes(members));
  }

  void forward() override {
    team_.run(members_, [this](int member) {
      double loss = 0;
      const Range part = part_of(spec_.batch, member, members_);
      for (Size sample = part.begin; sample < part.end; ++sample) loss += forward_sample(sample);
      losses_[static_cast<std::size_t>(member)] = loss;
    });
    double loss = 0;
    for (const double part : losses_) loss += part;
    bindings_.loss[0] = static_cast<float>(loss / static_cast<double>(spec_.global_batch));
  }

  void backward(GradientMode /*mode*/) override {
    if (bindings_.input_gradients[0].empty()) return;  // nothing is trained
    const float scale = 1.0F / static_cast<float>(spec_.global_batch) * bindings_.loss_scale[0];
    team_.run(members_, [this, scale](int member) {
      const Range part = part_of(spec_.batch, member, members_);
      const float* from = probabilities_;
      T* to = elements<T>(bindings_.input_gradients[0]).data();
      for (Size i = part.begin * spec_.classes; i < part.end * spec_.classes; ++i)
        store(to + i, from[i] * scale);
      for (Size sample = part.begin; sample < part.end; ++sample) {
        const Size i = sample * spec_.classes + label(sample);
        store(to + i, from[i] * scale - scale);
      }
    });
  }

 private:
  [[nodiscard]] Size label(Size sample) const {
    return bindings_.labels[static_cast<std::size_t>(sample)];
  }

  /// -log softmax(logits)[label], shifted by the largest logit so that nothing overflows.
  double forward_sample(Size sample) {
    const T* logits = elements<T>(bindings_.inputs[0]).data() + sample * spec_.classes;
    float* probabilities = probabilities_ + sample * spec_.classes;
    const Size classes = spec_.classes;
    for (Size i = 0; i < classes; ++i) probabilities[i] = load(logits + i);
    // Chosen, not branched to: nobody could foretell which logit is the largest.
    float largest = probabilities[0];
    for (Size i = 1; i < classes; ++i)
      largest = largest < probabilities[i] ? probabilities[i] : largest;
    float sum = 0;
    for (Size i = 0; i < classes; ++i) {
      probabilities[i] = std::exp(probabilities[i] - largest);
      sum += probabilities[i];
    }
    const float inverse = 1.0F / sum;
    for (Size i = 0; i < classes; ++i) probabilities[i] *= inverse;
    return (largest - load(logits + label(sample))) + std::log(sum);
  }

  SoftmaxCrossEntropySpec spec_;
  Bindings bindings_;
  Team& team_;
  int members_;
  std::span<double> losses_;  ///< one a member
  float* probabilities_;      ///< batch × classes
};

class SoftmaxCrossEntropyPlan final : public OperatorPlan {
 public:
  SoftmaxCrossEntropyPlan(const SoftmaxCrossEntropySpec& spec, Team& team)
      : spec_(spec),
        team_(team),
        members_(static_cast<int>(std::min<Size>(
            spec.batch, members_for(spec.batch * spec.classes * kExponentialCost, team.size())))) {}

  [[nodiscard]] Bytes saved_bytes() const override {
    return losses_bytes(members_) + float_bytes(spec_.batch * spec_.classes);
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("softmax_cross_entropy on {}", members_);
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    if (spec_.type == ElementType::f32)
      return std::make_unique<SoftmaxCrossEntropy<float>>(spec_, bindings, team_, members_);
    return std::make_unique<SoftmaxCrossEntropy<Bf16>>(spec_, bindings, team_, members_);
  }

 private:
  SoftmaxCrossEntropySpec spec_;
  Team& team_;
  int members_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_operator(const SoftmaxCrossEntropySpec& spec, Team& team,
                                            Isa /*isa*/) {
  return std::make_unique<SoftmaxCrossEntropyPlan>(spec, team);
}

}  // namespace ptbench
