// Linear layers against the plain loops in double, on values that do round.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/reference/linear.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

std::vector<Expected> expected(ElementType type, ElementType factors, const Doubles& values,
                               const Doubles& magnitudes, Size terms) {
  std::vector<Expected> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    result.push_back(kept_as(type, values[i], product_tolerance(factors, terms, magnitudes[i])));
  return result;
}

/// One layer in double: the loops on the data give the values, and the same loops on the data's
/// magnitudes give the sums that bound their rounding errors.
class LinearOracle {
 public:
  LinearOracle(const LinearSpec& spec, const OperatorData& data)
      : spec_(spec),
        input_(widened(data.inputs[0])),
        weight_(multiplied_as(spec.type, data.parameters[0])),
        bias_(added_as(spec.type, data.parameters[1])),
        output_gradient_(widened(data.output_gradients[0])) {}

  [[nodiscard]] std::vector<Expected> output() const {
    const auto forward = [&](const Doubles& x, const Doubles& w, const Doubles& b) {
      Doubles y(output_gradient_.size());
      reference::linear_forward<double>(spec_, x, w, b, y);
      return y;
    };
    return expected(spec_.type, spec_.type, forward(input_, weight_, bias_),
                    forward(magnitudes(input_), magnitudes(weight_), magnitudes(bias_)),
                    spec_.inputs + 1);
  }

  struct Gradients {
    std::vector<Expected> weight;
    std::vector<Expected> bias;
    std::vector<Expected> input;
  };

  /// `output` is the tested operator's own: where rounding decides the sign of a sum, it decides
  /// whether the rectifier lets the gradient through, and either is right.
  [[nodiscard]] Gradients gradients(const std::vector<float>& output) const {
    const Backward values = backward(input_, weight_, widened(output), output_gradient_);
    const Backward bounds = backward(magnitudes(input_), magnitudes(weight_), widened(output),
                                     magnitudes(output_gradient_));
    constexpr ElementType kF32 = ElementType::f32;
    return {expected(kF32, spec_.type, values.weight, bounds.weight, spec_.batch),
            expected(kF32, kF32, values.bias, bounds.bias, spec_.batch),
            expected(spec_.type, spec_.type, values.input, bounds.input, spec_.outputs)};
  }

 private:
  struct Backward {
    Doubles weight;
    Doubles bias;
    Doubles input;
  };

  [[nodiscard]] Backward backward(const Doubles& x, const Doubles& w, const Doubles& y,
                                  const Doubles& dy) const {
    Backward result{Doubles(w.size()), Doubles(bias_.size()),
                    Doubles(spec_.input_gradient ? x.size() : 0)};
    reference::linear_backward<double>(spec_, x, w, y, dy,
                                       {result.weight, result.bias, result.input});
    return result;
  }

  LinearSpec spec_;
  Doubles input_;
  Doubles weight_;
  Doubles bias_;
  Doubles output_gradient_;
};

bool same_mask(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return (x > 0) == (y > 0); });
}

}  // namespace

TEST_CASE("linear layers agree with sums in double within their type's rounding") {
  for (const LinearSpec& spec : linear_specs()) {
    const OperatorData data = make_data(spec, 4, Values::uniform);
    const LinearOracle oracle(spec, data);
    const std::vector<Expected> output = oracle.output();
    std::vector<float> mask;
    LinearOracle::Gradients gradients;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          CHECK(first_outside(result.output, output) == -1);
          if (mask.empty() || (spec.relu && !same_mask(mask, result.output))) {
            mask = result.output;
            gradients = oracle.gradients(mask);
          }
          CHECK(first_outside(result.gradients[0], gradients.weight) == -1);
          CHECK(first_outside(result.gradients[1], gradients.bias) == -1);
          CHECK(first_outside(result.input_gradients[0], gradients.input) == -1);
        });
  }
}

TEST_CASE("sums of fp16 products are formed in float, though parts of them exceed fp16") {
  constexpr Size kWidth = 64;
  const LinearSpec spec{.batch = 1, .inputs = kWidth, .outputs = kWidth, .type = ElementType::f16};
  // The halves of every sum are 131072 and -129024.
  std::vector<float> halves(kWidth, 64);
  std::ranges::fill(std::span(halves).subspan(kWidth / 2), -63.0F);
  OperatorData data = make_data(spec, 1, Values::integers);
  data.inputs = {halves};
  data.output_gradients = {halves};
  data.parameters = {std::vector<float>(kWidth * kWidth, 64), std::vector<float>(kWidth, 0)};
  const std::vector<float> sums(kWidth, 2048);
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(result.output == sums);
        CHECK(result.input_gradients[0] == sums);
      });
}

TEST_CASE("a diverged model shows behind a small rectified layer: NaN stays NaN") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const LinearSpec spec{.batch = 2, .inputs = 1, .outputs = 1, .relu = true};
  OperatorData data = make_data(spec, 1, Values::integers);
  data.inputs = {{kNan, 2}};
  data.parameters = {{-1}, {1}};
  data.output_gradients = {{3, 5}};
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        if (candidate != "direct") return;  // libraries' epilogues may write 0
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(std::isnan(result.output[0]));
        CHECK(result.output[1] == 0);
        CHECK(result.gradients[1] == std::vector<float>{3});
        CHECK(result.input_gradients[0] == std::vector<float>{-3, 0});
      });
}
