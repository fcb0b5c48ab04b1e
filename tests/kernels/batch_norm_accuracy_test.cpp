// Batch normalisation against the plain loops in double, and by hand as nn.BatchNorm2d computes it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/reference/batch_norm.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

/// One layer's training pass in double, and how far float arithmetic may be from it.
///
/// With n values a channel, the mean is off by δμ, the error of a sum over n. The variance of
/// differences from it is off by δv: a sum of n squares, each from a difference that keeps ε of the
/// mean's size. x̂ = (x - μ)/√(v + ε') inherits both: δx̂ = (ε(|x| + |μ|) + δμ)/√(v + ε') +
/// |x̂|·δv/2(v + ε'). Sums over x̂ and products with it carry these along.
class BatchNormOracle {
 public:
  BatchNormOracle(const BatchNormSpec& spec, const OperatorData& data)
      : spec_(spec),
        input_(widened(data.inputs[0])),
        second_(spec.add ? widened(data.inputs[1]) : Doubles()),
        weight_(widened(data.parameters[0])),
        bias_(widened(data.parameters[1])),
        running_mean_(widened(data.buffers[0])),
        running_variance_(widened(data.buffers[1])),
        mean_(weight_.size()),
        inverse_(weight_.size()),
        values_(spec.input.batch * spec.input.pixels()) {
    for (const std::vector<float>& gradient : data.output_gradients)
      output_gradients_.push_back(widened(gradient));
    const Doubles before = running_variance_;
    reference::batch_norm_statistics<double>(spec, input_, {mean_, inverse_},
                                             {running_mean_, running_variance_});
    for (std::size_t channel = 0; channel < mean_.size(); ++channel) add_bounds(channel);
    for (std::size_t channel = 0; channel < mean_.size(); ++channel)
      variance_tolerance_[channel] += 4 * kFloatEpsilon * before[channel];
  }

  [[nodiscard]] std::vector<Expected> output() const {
    Doubles y(input_.size());
    reference::batch_norm_forward<double>(spec_, input_, second_, {weight_, bias_},
                                          {mean_, inverse_}, y);
    std::vector<Expected> result;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t c = channel_of(i);
      const double second = spec_.add ? std::abs(second_[i]) : 0;
      const double few = 4 * kFloatEpsilon *
                         (std::abs(weight_[c] * normal(i)) + std::abs(bias_[c]) + second +
                          std::abs(weight_[c] * mean_[c] * inverse_[c]));
      result.push_back(kept_as(spec_.type, y[i], std::abs(weight_[c]) * normal_tolerance(i) + few));
    }
    return result;
  }

  [[nodiscard]] std::vector<Expected> running_mean() const {
    std::vector<Expected> result;
    for (std::size_t c = 0; c < mean_.size(); ++c)
      result.push_back({running_mean_[c], mean_tolerance_[c] + 4 * kFloatEpsilon});
    return result;
  }
  [[nodiscard]] std::vector<Expected> running_variance() const {
    std::vector<Expected> result;
    for (std::size_t c = 0; c < mean_.size(); ++c)
      result.push_back({running_variance_[c],
                        variance_tolerance_[c] + 4 * kFloatEpsilon * running_variance_[c]});
    return result;
  }

  struct Gradients {
    std::vector<Expected> weight;
    std::vector<Expected> bias;
    std::vector<Expected> input;
    std::vector<Expected> second;
  };

  /// `output` is the tested operator's own: it decides where the rectifier is open.
  [[nodiscard]] Gradients gradients(const std::vector<float>& output) const {
    const Doubles y = widened(output);
    Doubles dw(weight_.size());
    Doubles db(weight_.size());
    Doubles dx(input_.size());
    Doubles g(input_.size());
    reference::BatchNormBackward<double> from{.input = input_,
                                              .weight = weight_,
                                              .statistics = {mean_, inverse_},
                                              .output = y,
                                              .output_gradients = {}};
    for (const Doubles& gradient : output_gradients_) from.output_gradients.emplace_back(gradient);
    reference::batch_norm_backward<double>(spec_, from, {dw, db, dx, g});

    Doubles weight_tolerance(dw.size());
    Doubles bias_tolerance(dw.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      const std::size_t c = channel_of(i);
      bias_tolerance[c] += sum_tolerance(values_, std::abs(g[i]));
      weight_tolerance[c] +=
          sum_tolerance(values_, std::abs(g[i] * normal(i))) + std::abs(g[i]) * normal_tolerance(i);
    }
    Gradients result;
    for (std::size_t c = 0; c < dw.size(); ++c) {
      result.weight.push_back(kept_as(ElementType::f32, dw[c], weight_tolerance[c]));
      result.bias.push_back(kept_as(ElementType::f32, db[c], bias_tolerance[c]));
    }
    for (std::size_t i = 0; i < g.size(); ++i) {
      const std::size_t c = channel_of(i);
      const auto n = static_cast<double>(values_);
      const double few =
          4 * kFloatEpsilon *
              (std::abs(g[i]) + std::abs(db[c]) / n + std::abs(normal(i) * dw[c]) / n) +
          (rounds_sum() ? roundoff_of(spec_.type) * std::abs(g[i]) : 0);
      const double carried = (bias_tolerance[c] + std::abs(normal(i)) * weight_tolerance[c] +
                              normal_tolerance(i) * std::abs(dw[c])) /
                             n;
      const double scale = std::abs(weight_[c]) * inverse_[c];
      const double tolerance =
          scale * (few + carried) + std::abs(dx[i]) * (inverse_tolerance(c) + 4 * kFloatEpsilon);
      result.input.push_back(kept_as(spec_.type, dx[i], tolerance));
      result.second.push_back(kept_as(spec_.type, g[i], kFloatEpsilon * std::abs(g[i])));
    }
    return result;
  }

 private:
  /// A sum of two gradients may be read back from the second input's gradient, where it lies in
  /// bf16, instead of being made anew: the rounding that adding up gradients in bf16 always has.
  [[nodiscard]] bool rounds_sum() const {
    return spec_.type != ElementType::f32 && spec_.add && spec_.gradient_terms == 2;
  }

  void add_bounds(std::size_t channel) {
    const auto n = static_cast<double>(values_);
    double magnitude = 0;
    for (std::size_t i = 0; i < input_.size(); ++i)
      if (channel_of(i) == channel) magnitude += std::abs(input_[i]);
    const double variance = 1 / (inverse_[channel] * inverse_[channel]);
    const double mean = sum_tolerance(values_, magnitude) / n;
    const double difference = 2 * kFloatEpsilon * std::abs(mean_[channel]) + mean;
    mean_tolerance_.push_back(mean);
    variance_tolerance_.push_back(sum_tolerance(values_, variance) +
                                  2 * std::sqrt(variance) * difference);
  }

  [[nodiscard]] std::size_t channel_of(std::size_t element) const {
    return element / static_cast<std::size_t>(spec_.input.pixels()) % weight_.size();
  }
  [[nodiscard]] double normal(std::size_t i) const {
    return (input_[i] - mean_[channel_of(i)]) * inverse_[channel_of(i)];
  }
  /// Relative, of 1/√(variance + ε).
  [[nodiscard]] double inverse_tolerance(std::size_t channel) const {
    return variance_tolerance_[channel] * inverse_[channel] * inverse_[channel] / 2 +
           2 * kFloatEpsilon;
  }
  [[nodiscard]] double normal_tolerance(std::size_t i) const {
    const std::size_t c = channel_of(i);
    return (kFloatEpsilon * (std::abs(input_[i]) + std::abs(mean_[c])) + mean_tolerance_[c]) *
               inverse_[c] +
           std::abs(normal(i)) * inverse_tolerance(c);
  }

  BatchNormSpec spec_;
  Doubles input_;
  Doubles second_;
  Doubles weight_;
  Doubles bias_;
  Doubles running_mean_;
  Doubles running_variance_;
  Doubles mean_;
  Doubles inverse_;
  Size values_;  ///< of a channel
  std::vector<Doubles> output_gradients_;
  Doubles mean_tolerance_;
  Doubles variance_tolerance_;
};

void check_training(const BatchNormSpec& spec, const OperatorData& data) {
  const BatchNormOracle oracle(spec, data);
  const std::vector<Expected> output = oracle.output();
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(first_outside(result.output, output) == -1);
        CHECK(first_outside(result.buffers[0], oracle.running_mean()) == -1);
        CHECK(first_outside(result.buffers[1], oracle.running_variance()) == -1);
        const BatchNormOracle::Gradients gradients = oracle.gradients(result.output);
        CHECK(first_outside(result.gradients[0], gradients.weight) == -1);
        CHECK(first_outside(result.gradients[1], gradients.bias) == -1);
        if (!spec.input_gradient) return;
        CHECK(first_outside(result.input_gradients[0], gradients.input) == -1);
        if (spec.add) CHECK(first_outside(result.input_gradients[1], gradients.second) == -1);
      });
}

bool near(const std::vector<float>& actual, const std::vector<double>& expected, double margin) {
  return std::ranges::equal(actual, expected,
                            [&](double a, double b) { return std::abs(a - b) <= margin; });
}

/// Two samples of two channels of two pixels. Channel 0 is 1, 2, 3, 6 (mean 3, biased variance 3.5,
/// unbiased 14/3), channel 1 is −4, −4, 4, 4 (mean 0, biased variance 16, unbiased 64/3).
OperatorData by_hand(const BatchNormSpec& spec) {
  OperatorData data = make_data(spec, 1, Values::uniform);
  data.inputs[0] = {1, 2, -4, -4, 3, 6, 4, 4};
  data.parameters = {{2, -1}, {0.5F, 3}};
  data.buffers = {{10, -2}, {1, 5}};
  return data;
}

}  // namespace

TEST_CASE("batch norms agree with the loops in double within their type's rounding") {
  for (const BatchNormSpec& spec : batch_norm_specs())
    check_training(spec, make_data(spec, 4, Values::uniform));
}

TEST_CASE("batch norm survives a mean far from zero") {
  // E[x²] − mean² would lose all but three digits of the variance.
  const BatchNormSpec spec{.input = {.batch = 4, .channels = 17, .height = 5, .width = 5}};
  OperatorData data = make_data(spec, 4, Values::uniform);
  for (float& value : data.inputs[0]) value += 64;
  check_training(spec, data);
}

TEST_CASE("batch norm in packs of channels survives a mean far from zero") {
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    const BatchNormSpec spec{.input = {.batch = 3, .channels = 24, .height = 7, .width = 7},
                             .type = type};
    OperatorData data = make_data(spec, 4, Values::uniform);
    for (float& value : data.inputs[0])
      value = type == ElementType::f32 ? value + 10'000 : to_float(to_f16(value + 500));
    check_training(spec, data);
  }
}

TEST_CASE("batch norm that adds and rectifies gives gradients where its output is positive") {
  const BatchNormSpec spec{.input = {.batch = 2, .channels = 48, .height = 5, .width = 5},
                           .add = true,
                           .relu = true,
                           .gradient_terms = 2,
                           .type = ElementType::bf16};
  check_training(spec, make_data(spec, 4, Values::uniform));
}

TEST_CASE("NaN that a batch norm adds is in its output, and opens the rectifier") {
  const BatchNormSpec spec{
      .input = {.batch = 1, .channels = 16, .height = 2, .width = 2}, .add = true, .relu = true};
  OperatorData data = make_data(spec, 4, Values::uniform);
  data.inputs[1][21] = std::numeric_limits<float>::quiet_NaN();
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(std::isnan(result.output[21]));
        CHECK(result.input_gradients[1][21] == data.output_gradients[0][21]);
      });
}

TEST_CASE("batch norm trains as nn.BatchNorm2d: biased variance here, unbiased in the buffer") {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    const BatchNormSpec spec{.input = {.batch = 2, .channels = 2, .height = 1, .width = 2},
                             .type = type};
    const OperatorData data = by_hand(spec);
    const double a = 2 / std::sqrt(3.5 + 1e-5);
    const double b = -1 / std::sqrt(16 + 1e-5);
    const double margin = type == ElementType::f32 ? 4e-6 : 4 * roundoff_of(type);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          CHECK(near(
              result.output,
              {0.5 - 2 * a, 0.5 - a, 3 - 4 * b, 3 - 4 * b, 0.5, 0.5 + 3 * a, 3 + 4 * b, 3 + 4 * b},
              margin));
          CHECK(near(result.buffers[0], {0.9 * 10 + 0.1 * 3, 0.9 * -2}, 4e-6));
          CHECK(near(result.buffers[1], {0.9 + 0.1 * 14 / 3, 0.9 * 5 + 0.1 * 64 / 3}, 4e-6));
        });
  }
}

TEST_CASE("batch norm evaluates with its buffers") {
  for (const bool add : {false, true}) {
    const BatchNormSpec spec{
        .input = {.batch = 2, .channels = 2, .height = 1, .width = 2}, .add = add, .relu = add};
    OperatorData data = by_hand(spec);
    if (add) data.inputs[1] = {10, 20, 0, 0, 0, 0, 0, 1};
    const double a = 2 / std::sqrt(1 + 1e-5);
    const double b = -1 / std::sqrt(5 + 1e-5);
    std::vector<double> expected{0.5 - 9 * a, 0.5 - 8 * a, 3 - 2 * b, 3 - 2 * b,
                                 0.5 - 7 * a, 0.5 - 4 * a, 3 + 6 * b, 3 + 6 * b};
    for (std::size_t i = 0; add && i < expected.size(); ++i)
      expected[i] = std::max(0.0, expected[i] + double{data.inputs[1][i]});
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          OperatorHarness harness(backend, spec, candidate, data);
          const OperatorResult result = harness.evaluate();
          CHECK(near(result.output, expected, 1e-5));
          CHECK(same_bits(result.buffers, data.buffers));
        });
  }
}

TEST_CASE("batch norm of one value a channel gives β and moves the variance towards zero") {
  const BatchNormSpec spec{.input = {.batch = 1, .channels = 3, .height = 1, .width = 1}};
  OperatorData data = make_data(spec, 8, Values::uniform);
  data.buffers = {{1, 2, 3}, {1, 2, 3}};
  // 1/√ε is 316: that many ε are left of a value less itself, where the two are rounded apart.
  constexpr double kMargin = 1e-4;
  const std::vector<double> none{0, 0, 0};
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(near(result.output, widened(data.parameters[1]), kMargin));
        CHECK(near(result.buffers[1], {0.9, 1.8, 2.7}, 1e-6));
        CHECK(near(result.gradients[0], none, kMargin));
        CHECK(result.gradients[1] == data.output_gradients[0]);
        CHECK(near(result.input_gradients[0], none, kMargin));
      });
}
