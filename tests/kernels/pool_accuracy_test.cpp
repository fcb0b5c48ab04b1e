// Pools against the plain loops in double, and by hand as nn.MaxPool2d and nn.AvgPool2d compute
// them.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/reference/pool.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

struct Results {
  Doubles output;
  Doubles input_gradient;
};

Results results_of(const PoolSpec& spec, const Doubles& input, const Doubles& output_gradient) {
  Results results{Doubles(output_gradient.size()), Doubles(input.size())};
  Doubles sums(input.size());
  reference::pool_forward<double>(spec, input, results.output);
  reference::pool_backward<double>(spec, input, output_gradient, sums, results.input_gradient);
  return results;
}

/// At most as many terms as the window has pixels make a result; a maximum is exact.
std::vector<Expected> expected(const PoolSpec& spec, const Doubles& values,
                               const Doubles& magnitudes, bool exact) {
  const Size terms = spec.window.kernel_height * spec.window.kernel_width + 1;
  std::vector<Expected> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double tolerance = exact ? 0 : sum_tolerance(terms, magnitudes[i]);
    result.push_back(exact ? Expected{values[i], 0} : kept_as(spec.type, values[i], tolerance));
  }
  return result;
}

/// A pool of one sample of one channel, run by every candidate.
void check_by_hand(const PoolSpec& spec, const OperatorData& data, const std::vector<float>& output,
                   const std::vector<float>& input_gradient) {
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(same_values(result.output, output));
        CHECK(same_values(result.input_gradients[0], input_gradient));
      });
}

constexpr ImageShape kThreeByThree{.batch = 1, .channels = 1, .height = 3, .width = 3};

}  // namespace

TEST_CASE("pools agree with the loops in double within their type's rounding") {
  for (const PoolSpec& spec : pool_specs()) {
    const OperatorData data = make_data(spec, 4, Values::uniform);
    const Doubles input = widened(data.inputs[0]);
    const Doubles gradient = widened(data.output_gradients[0]);
    const Results values = results_of(spec, input, gradient);
    // The largest element is another one among magnitudes: the sums over it keep their terms.
    const Results sums = spec.kind == PoolKind::max
                             ? results_of(spec, input, magnitudes(gradient))
                             : results_of(spec, magnitudes(input), magnitudes(gradient));
    const bool is_max = spec.kind == PoolKind::max;
    const auto output = expected(spec, values.output, sums.output, is_max);
    auto input_gradient = expected(spec, values.input_gradient, sums.input_gradient, false);
    if (!spec.input_gradient) input_gradient.clear();
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          CHECK(first_outside(result.output, output) == -1);
          CHECK(first_outside(result.input_gradients[0], input_gradient) == -1);
        });
  }
}

TEST_CASE("of equal values a max pool takes the first in row-major order") {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    const PoolSpec spec{.kind = PoolKind::max,
                        .input = kThreeByThree,
                        .window = Window::square(2, 1, 0),
                        .type = type};
    // All equal: each window's first pixel gets its gradient.
    check_by_hand(spec,
                  {.inputs = {{7, 7, 7, 7, 7, 7, 7, 7, 7}}, .output_gradients = {{1, 2, 3, 4}}},
                  {7, 7, 7, 7}, {1, 2, 0, 3, 4, 0, 0, 0, 0});
    // The pixel in the middle is the largest of every window; above it an equal one.
    check_by_hand(spec,
                  {.inputs = {{0, 5, 0, 0, 5, 0, 0, 5, 0}}, .output_gradients = {{1, 2, 3, 4}}},
                  {5, 5, 5, 5}, {0, 3, 0, 0, 7, 0, 0, 0, 0});
    // Zeros after a rectifier, the commonest of ties; −0 equals 0.
    check_by_hand(
        spec,
        {.inputs = {{-0.0F, 0, -1, 0, -0.0F, -1, -2, 0, 0}}, .output_gradients = {{1, 2, 3, 4}}},
        {0, 0, 0, 0}, {1, 2, 0, 3, 4, 0, 0, 0, 0});
  }
}

TEST_CASE("a max pool's padding is less than every value") {
  const PoolSpec spec{
      .kind = PoolKind::max, .input = kThreeByThree, .window = Window::square(3, 2, 1)};
  check_by_hand(
      spec, {.inputs = {{-5, -6, -7, -8, -9, -4, -3, -2, -1}}, .output_gradients = {{1, 2, 3, 4}}},
      {-5, -4, -2, -1}, {1, 0, 0, 0, 0, 2, 0, 3, 4});
  const PoolSpec one{.kind = PoolKind::max,
                     .input = {.batch = 1, .channels = 1, .height = 1, .width = 1},
                     .window = Window::square(3, 1, 1)};
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  check_by_hand(one, {.inputs = {{kLowest}}, .output_gradients = {{2}}}, {kLowest}, {2});
}

TEST_CASE("an average pool counts its padding as zeros") {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    const PoolSpec spec{.kind = PoolKind::average,
                        .input = kThreeByThree,
                        .window = Window::square(2, 2, 1),
                        .type = type};
    check_by_hand(
        spec,
        {.inputs = {{4, 8, 12, 16, 20, 24, 28, 32, 36}}, .output_gradients = {{4, 8, 12, 16}}},
        {1, 5, 11, 28}, {1, 2, 2, 3, 4, 4, 3, 4, 4});
  }
}

TEST_CASE("a diverged model shows behind a pool: NaN stays NaN") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
    const PoolSpec spec{.kind = kind, .input = kThreeByThree, .window = Window::square(3, 1, 0)};
    for (std::size_t place = 0; place < 9; ++place) {
      OperatorData data{.inputs = {{1, 9, 2, 3, 4, 5, 6, 7, 8}}, .output_gradients = {{1}}};
      data.inputs[0][place] = kNan;
      for_each_candidate(
          spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
            const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
            CHECK(std::isnan(result.output[0]));
          });
    }
  }
}

TEST_CASE("of several NaN a max pool takes the last, as in PyTorch") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const PoolSpec spec{
      .kind = PoolKind::max, .input = kThreeByThree, .window = Window::square(3, 1, 0)};
  const OperatorData data{.inputs = {{1, kNan, 2, 3, kNan, 5, 6, 7, 8}}, .output_gradients = {{3}}};
  for_each_candidate(spec, [&](const KernelBackend& backend, int /*threads*/,
                               const std::string& candidate) {
    const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
    CHECK(same_values(result.input_gradients[0], std::vector<float>{0, 0, 0, 0, 3, 0, 0, 0, 0}));
  });
}
