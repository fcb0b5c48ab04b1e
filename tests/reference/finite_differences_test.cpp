// The oracle against the definition of a derivative: backward of each operator must be what small
// changes of forward's inputs do to its result. Linear layers, activations and the loss.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/reference/activations.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/softmax_cross_entropy.h"
#include "tests/support/doubles.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

struct Layer {
  LinearSpec spec;
  Doubles input = drawn_doubles(spec.batch * spec.inputs, 1);
  Doubles weight = drawn_doubles(spec.outputs * spec.inputs, 2);
  Doubles bias = drawn_doubles(spec.outputs, 3);
  Doubles output_gradient = drawn_doubles(spec.batch * spec.outputs, 4);

  [[nodiscard]] Doubles forward() const {
    Doubles output(output_gradient.size());
    reference::linear_forward<double>(spec, input, weight, bias, output);
    return output;
  }
};

void check_layer(const LinearSpec& spec) {
  Layer layer{spec};
  const Doubles output = layer.forward();
  if (spec.relu) {
    // A change must not cross the kink, where there is no derivative.
    LinearSpec open = spec;
    open.relu = false;
    for (const double sum : Layer{open}.forward()) REQUIRE(std::abs(sum) > 1e-3);
  }
  Doubles weight_gradient(layer.weight.size());
  Doubles bias_gradient(layer.bias.size());
  Doubles input_gradient(spec.input_gradient ? layer.input.size() : 0);
  reference::linear_backward<double>(spec, layer.input, layer.weight, output, layer.output_gradient,
                                     {weight_gradient, bias_gradient, input_gradient});
  const auto loss = [&] { return weighted_sum(layer.forward(), layer.output_gradient); };
  CHECK(first_wrong_derivative(layer.weight, weight_gradient, loss) == -1);
  CHECK(first_wrong_derivative(layer.bias, bias_gradient, loss) == -1);
  if (spec.input_gradient) CHECK(first_wrong_derivative(layer.input, input_gradient, loss) == -1);
}

}  // namespace

TEST_CASE("linear: backward is the derivative of forward") {
  check_layer({.batch = 1, .inputs = 1, .outputs = 1});
  check_layer({.batch = 3, .inputs = 5, .outputs = 4});
  check_layer({.batch = 3, .inputs = 5, .outputs = 4, .relu = true});
  check_layer({.batch = 7, .inputs = 2, .outputs = 6, .relu = true, .input_gradient = false});
}

TEST_CASE("relu: backward is the derivative of forward, and closed at the kink") {
  const Doubles input{-2, -0.5, -1e-3, 1e-3, 0.5, 2};
  const Doubles output_gradient{1, 2, 3, 4, 5, 6};
  Doubles gradient;
  for (std::size_t i = 0; i < input.size(); ++i)
    gradient.push_back(
        reference::rectify_gradient(reference::rectify(input[i]), output_gradient[i]));
  Doubles variables = input;
  CHECK(first_wrong_derivative(variables, gradient, [&] {
          Doubles output;
          for (const double value : variables) output.push_back(reference::rectify(value));
          return weighted_sum(output, output_gradient);
        }) == -1);
  CHECK(reference::rectify_gradient(reference::rectify(0.0), 7.0) == 0);
  CHECK(std::isnan(reference::rectify(std::nan(""))));
}

TEST_CASE("gelu: backward is the derivative of forward") {
  Doubles variables{-6, -3, -1.5, -0.75, -1e-3, 0, 1e-3, 0.5, 1, 2.5, 7};
  Doubles gradient;
  for (const double value : variables) gradient.push_back(reference::gelu_derivative(value));
  CHECK(first_wrong_derivative(variables, gradient, [&] {
          double sum = 0;
          for (const double value : variables) sum += reference::gelu(value);
          return sum;
        }) == -1);
}

TEST_CASE("softmax cross-entropy: backward is the derivative of forward, times the loss scale") {
  for (const SoftmaxCrossEntropySpec& spec :
       {SoftmaxCrossEntropySpec{.batch = 1, .classes = 2, .global_batch = 1},
        SoftmaxCrossEntropySpec{.batch = 4, .classes = 5, .global_batch = 4},
        SoftmaxCrossEntropySpec{.batch = 3, .classes = 7, .global_batch = 12}}) {
    Doubles logits = drawn_doubles(spec.batch * spec.classes, 5);
    for (double& logit : logits) logit *= 4;
    std::vector<std::int32_t> labels;
    for (Size sample = 0; sample < spec.batch; ++sample)
      labels.push_back(static_cast<std::int32_t>((sample * 3 + 1) % spec.classes));
    for (const double scale : {1.0, 8.0}) {
      Doubles gradient(logits.size());
      reference::softmax_cross_entropy_backward<double>(spec, logits, labels, scale, gradient);
      CHECK(first_wrong_derivative(logits, gradient, [&] {
              return scale * reference::softmax_cross_entropy_forward<double>(spec, logits, labels);
            }) == -1);
    }
  }
}

TEST_CASE("softmax cross-entropy: values in closed form") {
  const std::vector<std::int32_t> labels{0, 2};
  const SoftmaxCrossEntropySpec spec{.batch = 2, .classes = 3, .global_batch = 2};
  const auto loss = [&](const Doubles& logits) {
    return reference::softmax_cross_entropy_forward<double>(spec, logits, labels);
  };
  CHECK(loss({5, 5, 5, -1, -1, -1}) == Approx(std::log(3.0)).epsilon(1e-14));
  // log(e² + e + 1) − 2 and log(1 + e + e²) − 2.
  CHECK(loss({2, 1, 0, 0, 1, 2}) == Approx(0.4076059644443801).epsilon(1e-14));
  CHECK(loss({1000, 0, 0, 0, 0, 1000}) == 0);
  CHECK(loss({0, 1000, 0, 0, 1000, 0}) == 1000);
}
