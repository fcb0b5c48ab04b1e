// The oracle against the definition of a derivative: convolutions, pools, batch normalisation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/reference/batch_norm.h"
#include "kernels/reference/conv2d.h"
#include "kernels/reference/pool.h"
#include "tests/support/doubles.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

constexpr ImageShape kImage{.batch = 2, .channels = 3, .height = 5, .width = 4};

/// Windows that overlap and that leave gaps, with and without padding.
const std::vector<Window>& windows() {
  static const std::vector<Window> kWindows{
      {},
      {.kernel_height = 3, .kernel_width = 3, .padding_height = 1, .padding_width = 1},
      {.kernel_height = 3,
       .kernel_width = 2,
       .stride_height = 2,
       .stride_width = 1,
       .padding_height = 1,
       .padding_width = 0},
      {.kernel_height = 2, .kernel_width = 2, .stride_height = 3, .stride_width = 2},
  };
  return kWindows;
}

void check_conv2d(const Conv2dSpec& spec) {
  Doubles input = drawn_doubles(spec.input.elements(), 1);
  Doubles weight = drawn_doubles(reference::weight_shape(spec).elements(), 2);
  Doubles bias = drawn_doubles(spec.bias ? spec.outputs : 0, 3);
  const Doubles output_gradient = drawn_doubles(spec.output().elements(), 4);
  Doubles weight_gradient(weight.size());
  Doubles bias_gradient(bias.size());
  Doubles input_gradient(input.size());
  reference::conv2d_backward<double>(spec, input, weight, output_gradient,
                                     {weight_gradient, bias_gradient, input_gradient});
  const auto loss = [&] {
    Doubles output(output_gradient.size());
    reference::conv2d_forward<double>(spec, input, {}, weight, bias, output);
    return weighted_sum(output, output_gradient);
  };
  CHECK(first_wrong_derivative(input, input_gradient, loss) == -1);
  CHECK(first_wrong_derivative(weight, weight_gradient, loss) == -1);
  CHECK(first_wrong_derivative(bias, bias_gradient, loss) == -1);
}

void check_pool(const PoolSpec& spec) {
  Doubles input = drawn_doubles(spec.input.elements(), 1);
  const Doubles output_gradient = drawn_doubles(spec.output().elements(), 4);
  Doubles sums(input.size());
  Doubles input_gradient(input.size());
  reference::pool_backward<double>(spec, input, output_gradient, sums, input_gradient);
  const auto loss = [&] {
    Doubles output(output_gradient.size());
    reference::pool_forward<double>(spec, input, output);
    return weighted_sum(output, output_gradient);
  };
  CHECK(first_wrong_derivative(input, input_gradient, loss) == -1);
}

/// A batch norm and what goes into it.
struct Norm {
  BatchNormSpec spec;
  Doubles input = drawn_doubles(spec.input.elements(), 1);
  Doubles second = drawn_doubles(spec.add ? spec.input.elements() : 0, 2);
  Doubles weight = drawn_doubles(spec.input.channels, 3);
  Doubles bias = drawn_doubles(spec.input.channels, 4);
  Doubles mean = Doubles(weight.size());
  Doubles inverse = Doubles(weight.size());

  [[nodiscard]] Doubles forward() {
    Doubles running_mean(weight.size());
    Doubles running_variance(weight.size());
    reference::batch_norm_statistics<double>(spec, input, {mean, inverse},
                                             {running_mean, running_variance});
    Doubles output(input.size());
    reference::batch_norm_forward<double>(spec, input, second, {weight, bias}, {mean, inverse},
                                          output);
    return output;
  }
};

void check_batch_norm(const BatchNormSpec& spec) {
  Norm norm{spec};
  if (spec.relu) {
    // A change must not cross the kink, where there is no derivative.
    BatchNormSpec open = spec;
    open.relu = false;
    for (const double value : Norm{open}.forward()) REQUIRE(std::abs(value) > 1e-3);
  }
  const Doubles output = norm.forward();
  std::vector<Doubles> terms;
  Doubles sum(output.size());
  for (Size term = 0; term < spec.gradient_terms; ++term) {
    terms.push_back(drawn_doubles(spec.input.elements(), 10 + static_cast<std::uint64_t>(term)));
    std::ranges::transform(sum, terms.back(), sum.begin(), std::plus());
  }
  Doubles weight_gradient(norm.weight.size());
  Doubles bias_gradient(norm.bias.size());
  Doubles input_gradient(norm.input.size());
  Doubles second_gradient(norm.second.size());
  reference::batch_norm_backward<double>(
      spec,
      {.input = norm.input,
       .weight = norm.weight,
       .statistics = {norm.mean, norm.inverse},
       .output = output,
       .output_gradients = {terms.begin(), terms.end()}},
      {weight_gradient, bias_gradient, input_gradient, second_gradient});
  const auto loss = [&] { return weighted_sum(norm.forward(), sum); };
  CHECK(first_wrong_derivative(norm.weight, weight_gradient, loss) == -1);
  CHECK(first_wrong_derivative(norm.bias, bias_gradient, loss) == -1);
  CHECK(first_wrong_derivative(norm.second, second_gradient, loss) == -1);
  // Third derivatives are about 1/√v³: channels of few values have small variances.
  CHECK(first_wrong_derivative(norm.input, input_gradient, loss, 1e-7) == -1);
}

}  // namespace

TEST_CASE("conv2d: backward is the derivative of forward") {
  for (const Window& window : windows()) {
    check_conv2d({.input = kImage, .outputs = 2, .window = window});
    check_conv2d({.input = kImage, .outputs = 1, .window = window, .bias = true});
  }
}

TEST_CASE("pools: backward is the derivative of forward") {
  for (const Window& window : windows())
    for (const PoolKind kind : {PoolKind::max, PoolKind::average})
      check_pool({.kind = kind, .input = kImage, .window = window});
}

TEST_CASE("batch norm: backward is the derivative of forward through mean and variance") {
  for (const bool add : {false, true})
    for (const bool relu : {false, true})
      for (const Size terms : {Size{1}, Size{2}})
        check_batch_norm({.input = kImage, .add = add, .relu = relu, .gradient_terms = terms});
}

TEST_CASE("conv2d: a one by one kernel is a linear layer on every pixel") {
  const Conv2dSpec spec{.input = {.batch = 1, .channels = 2, .height = 1, .width = 3},
                        .outputs = 2,
                        .window = {},
                        .bias = true};
  Doubles output(6);
  reference::conv2d_forward<double>(spec, Doubles{1, 2, 3, 10, 20, 30}, {}, Doubles{1, 2, -1, 0.5},
                                    Doubles{100, 200}, output);
  CHECK(output == Doubles{121, 142, 163, 204, 208, 212});
}
