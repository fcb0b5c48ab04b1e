#include "kernels/cpu/relu.h"

#include <fmt/format.h>

#include "kernels/cpu/partition.h"
#include "kernels/cpu/simd.h"

namespace ptbench {
namespace {

class Relu final : public Operator {
 public:
  Relu(const ReluSpec& spec, const Bindings& bindings, Team& team, Isa isa, int members)
      : spec_(spec), bindings_(bindings), team_(team), isa_(isa), members_(members) {}

  void forward() override {
    team_.run(members_, [this](int member) {
      const Range part = part_of(spec_.elements, member, members_);
      const float* __restrict from = bindings_.input.data() + part.begin;
      float* __restrict to = bindings_.output.data() + part.begin;
      simd::run(isa_, [=] {
        for (Size i = 0; i < part.size(); ++i) to[i] = from[i] < 0 ? 0.0F : from[i];  // NaN stays
      });
    });
  }

  void backward() override {
    if (!spec_.input_gradient) return;
    team_.run(members_, [this](int member) {
      const Range part = part_of(spec_.elements, member, members_);
      const float* __restrict output = bindings_.output.data() + part.begin;
      const float* __restrict from = bindings_.output_gradient.data() + part.begin;
      float* __restrict to = bindings_.input_gradient.data() + part.begin;
      simd::run(isa_, [=] {
        for (Size i = 0; i < part.size(); ++i) to[i] = output[i] > 0 ? from[i] : 0.0F;
      });
    });
  }

 private:
  ReluSpec spec_;
  Bindings bindings_;
  Team& team_;
  Isa isa_;
  int members_;
};

class ReluPlan final : public OperatorPlan {
 public:
  ReluPlan(const ReluSpec& spec, Team& team, Isa isa)
      : spec_(spec), team_(team), isa_(isa), members_(members_for(spec.elements, team.size())) {}

  [[nodiscard]] std::string description() const override {
    return fmt::format("relu {} on {}", name_of(isa_), members_);
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<Relu>(spec_, bindings, team_, isa_, members_);
  }

 private:
  ReluSpec spec_;
  Team& team_;
  Isa isa_;
  int members_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_relu(const ReluSpec& spec, Team& team, Isa isa) {
  return std::make_unique<ReluPlan>(spec, team, isa);
}

}  // namespace ptbench
