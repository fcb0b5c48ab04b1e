// Convolutions against the plain loops in double, on values that do round, and by hand.
#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels/reference/conv2d.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

/// A value in double and the sum of magnitudes that bounds its rounding error.
struct Bounded {
  Doubles values;
  Doubles magnitudes;
  Size terms = 0;
};

std::vector<Expected> expected(const Conv2dSpec& spec, ElementType result, const Bounded& bounded,
                               bool winograd) {
  std::vector<Expected> all;
  const double largest =
      bounded.magnitudes.empty() ? 0 : *std::ranges::max_element(bounded.magnitudes);
  for (std::size_t i = 0; i < bounded.values.size(); ++i) {
    // Winograd rounds sums over a patch, of which this element may need a small part only.
    const double magnitude = winograd ? largest : bounded.magnitudes[i];
    all.push_back(
        expected_sum(result, spec.type, bounded.values[i], magnitude, bounded.terms, winograd));
  }
  return all;
}

/// One layer in double: the loops on the data give the values, and the same loops on the data's
/// magnitudes give the sums that bound their rounding errors.
struct Conv2dOracle {
  Conv2dOracle(const Conv2dSpec& spec, const OperatorData& data) {
    const Doubles input = widened(data.inputs[0]);
    const Doubles weights = multiplied_as(spec.type, data.parameters[0]);
    const Doubles biases = spec.bias ? added_as(spec.type, data.parameters[1]) : Doubles();
    const Doubles gradient = widened(data.output_gradients[0]);
    for (const bool bound : {false, true}) {
      const auto seen = [&](const Doubles& values) { return bound ? magnitudes(values) : values; };
      Doubles y(gradient.size());
      Doubles dw(weights.size());
      Doubles db(biases.size());
      Doubles dx(spec.input_gradient ? input.size() : 0);
      reference::conv2d_forward<double>(spec, seen(input), seen(weights), seen(biases), y);
      reference::conv2d_backward<double>(spec, seen(input), seen(weights), seen(gradient),
                                         {dw, db, dx});
      (bound ? output.magnitudes : output.values) = y;
      (bound ? weight.magnitudes : weight.values) = dw;
      (bound ? bias.magnitudes : bias.values) = db;
      (bound ? input_gradient.magnitudes : input_gradient.values) = dx;
    }
    const Size taps = spec.window.kernel_height * spec.window.kernel_width;
    output.terms = spec.input.channels * taps + 1;
    weight.terms = bias.terms = spec.input.batch * spec.output().pixels();
    input_gradient.terms = spec.outputs * taps;
  }

  Bounded output;
  Bounded weight;
  Bounded bias;
  Bounded input_gradient;
};

/// One sample of one channel, 3 × 3, numbered from 1.
OperatorData three_by_three(const Conv2dSpec& spec, std::vector<float> weight) {
  OperatorData data = make_data(spec, 1, Values::integers);
  data.inputs = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  data.parameters = {std::move(weight)};
  return data;
}

}  // namespace

TEST_CASE("convolutions agree with sums in double within their type's rounding") {
  for (const Conv2dSpec& spec : conv2d_specs()) {
    const OperatorData data = make_data(spec, 4, Values::uniform);
    const Conv2dOracle oracle(spec, data);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          const auto check = [&](const std::vector<float>& actual, ElementType type,
                                 const Bounded& bounded) {
            return first_outside(actual, expected(spec, type, bounded, is_winograd(candidate)));
          };
          CHECK(check(result.output, spec.type, oracle.output) == -1);
          CHECK(check(result.gradients[0], ElementType::f32, oracle.weight) == -1);
          if (spec.bias) CHECK(check(result.gradients[1], ElementType::f32, oracle.bias) == -1);
          CHECK(check(result.input_gradients[0], spec.type, oracle.input_gradient) == -1);
        });
  }
}

TEST_CASE("convolutions do not flip the kernel, and step and pad as nn.Conv2d") {
  const ImageShape image{.batch = 1, .channels = 1, .height = 3, .width = 3};
  const Window corner{.kernel_height = 2, .kernel_width = 2};
  Window padded = corner;
  padded.stride_height = padded.stride_width = 2;
  padded.padding_height = 1;
  for (const ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::tf32}) {
    const Conv2dSpec plain{.input = image, .outputs = 1, .window = corner, .type = type};
    const Conv2dSpec stepped{.input = image, .outputs = 1, .window = padded, .type = type};
    const auto check = [](const Conv2dSpec& spec, const std::vector<float>& output) {
      const OperatorData data = three_by_three(spec, {1, 10, 0, 2});
      for_each_candidate(
          spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
            if (is_winograd(candidate)) return;
            CHECK(OperatorHarness(backend, spec, candidate, data).run().output == output);
          });
    };
    check(plain, {1 + 20 + 10, 2 + 30 + 12, 4 + 50 + 16, 5 + 60 + 18});
    // Rows -1 and 0, then 1 and 2; columns 0 and 1.
    check(stepped, {2 * 2, 4 + 50 + 16});
  }
}
