// GELU against the error function in double, and at values computed outside of it.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/reference/activations.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

/// Φ = (1 + erf)/2 in float is off by some ε of 1, whatever its value, and so is φ; x multiplies
/// the error.
constexpr double kFewEpsilon = 4 * kFloatEpsilon;

void check_gelu(const GeluSpec& spec, const OperatorData& data) {
  std::vector<Expected> output;
  std::vector<Expected> gradient;
  for (std::size_t i = 0; i < data.inputs[0].size(); ++i) {
    const double x = data.inputs[0][i];
    const double dy = data.output_gradients[0][i];
    output.push_back(kept_as(spec.tensor.type, reference::gelu(x), kFewEpsilon * std::abs(x)));
    const double tolerance = kFewEpsilon * (1 + std::abs(x)) * std::abs(dy);
    gradient.push_back(kept_as(spec.tensor.type, reference::gelu_derivative(x) * dy, tolerance));
  }
  if (!spec.input_gradient) gradient.clear();
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(first_outside(result.output, output) == -1);
        CHECK(first_outside(result.input_gradients[0], gradient) == -1);
      });
}

}  // namespace

TEST_CASE("gelu agrees with the error function in double within its type's rounding") {
  for (const GeluSpec& spec : gelu_specs()) {
    OperatorData data = make_data(spec, 4, Values::uniform);
    check_gelu(spec, data);
    for (float& value : data.inputs[0]) value *= 8;  // into both tails
    check_gelu(spec, data);
  }
}

TEST_CASE("gelu at known values") {
  // x·Φ(x) of tables of the normal distribution.
  constexpr std::array<std::array<double, 2>, 7> kKnown{{{0, 0},
                                                         {1, 0.8413447460685429},
                                                         {-1, -0.15865525393145707},
                                                         {2, 1.9544997361036416},
                                                         {-2, -0.04550026389635842},
                                                         {0.5, 0.34573123063700656},
                                                         {-3, -0.00404969409489028}}};
  const GeluSpec spec{.tensor = {.shape = {1, 7}}};
  OperatorData data{.inputs = {{}}, .output_gradients = {std::vector<float>(7, 1.0F)}};
  std::vector<Expected> expected;
  for (const auto& [x, y] : kKnown) {
    CHECK(reference::gelu(x) == Approx(y).epsilon(1e-14));
    data.inputs[0].push_back(static_cast<float>(x));
    expected.push_back(kept_as(ElementType::f32, y, kFewEpsilon * std::abs(x)));
  }
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(first_outside(result.output, expected) == -1);
        CHECK(std::abs(result.input_gradients[0][0] - 0.5F) <= kFewEpsilon);
      });
}

TEST_CASE("gelu of very large values is the value or nothing") {
  const GeluSpec spec{.tensor = {.shape = {1, 4}}};
  const OperatorData data{.inputs = {{50, -50, 1e20F, -1e20F}}, .output_gradients = {{1, 2, 3, 4}}};
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(same_values(result.output, std::vector<float>{50, 0, 1e20F, 0}));
        CHECK(same_values(result.input_gradients[0], std::vector<float>{1, 0, 3, 0}));
      });
}
