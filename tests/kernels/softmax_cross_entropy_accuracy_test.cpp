// The loss against the plain loops in double: values, parts of a global batch, extreme logits.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/reference/softmax_cross_entropy.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tolerance.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;

/// A sample's loss and gradient come from differences of logits, each off by up to ε/2 of itself, a
/// sum over classes, an exponential and a logarithm (a few ε): together some ε of 1 + the sample's
/// widest difference.
constexpr double kRounding = 4.0 * kFloatEpsilon;

struct ExpectedLoss {
  std::vector<Expected> loss;
  std::vector<Expected> gradient;
};

ExpectedLoss expected_loss(const SoftmaxCrossEntropySpec& spec, const OperatorData& data) {
  const Doubles logits = widened(data.inputs[0]);
  Doubles gradient(logits.size());
  reference::softmax_cross_entropy_backward<double>(spec, logits, data.labels,
                                                    double{data.loss_scale}, gradient);
  const auto classes = static_cast<std::size_t>(spec.classes);
  const auto global_batch = static_cast<double>(spec.global_batch);
  const double sums = kRounding * std::sqrt(static_cast<double>(spec.classes));
  ExpectedLoss result;
  double loss_tolerance = 0;
  for (std::size_t sample = 0; sample < data.labels.size(); ++sample) {
    const std::span<const double> row = std::span(logits).subspan(sample * classes, classes);
    double largest = 0;
    for (const double logit : row) largest = std::max(largest, std::abs(logit));
    const double scale = sums * (1 + 2 * largest);
    loss_tolerance += scale;
    for (std::size_t i = 0; i < classes; ++i) {
      const bool is_label = static_cast<std::int32_t>(i) == data.labels[sample];
      const double probability = std::exp(row[i] - reference::log_sum_exp(row));
      const double tolerance = (scale * probability + (is_label ? kRounding : 0) + kFlushed) *
                               double{data.loss_scale} / global_batch;
      result.gradient.push_back(kept_as(spec.type, gradient[sample * classes + i], tolerance));
    }
  }
  const double loss = reference::softmax_cross_entropy_forward<double>(spec, logits, data.labels);
  // The result is a float itself.
  result.loss = {{loss, loss_tolerance / global_batch + kRounding * std::abs(loss)}};
  return result;
}

void check_loss(const SoftmaxCrossEntropySpec& spec, const OperatorData& data) {
  const ExpectedLoss expected = expected_loss(spec, data);
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        CHECK(first_outside(result.loss, expected.loss) == -1);
        CHECK(first_outside(result.input_gradients[0], expected.gradient) == -1);
      });
}

/// Logits of one sample, repeated for a batch.
OperatorData repeated(const SoftmaxCrossEntropySpec& spec, const std::vector<float>& logits,
                      std::int32_t label) {
  OperatorData data;
  data.inputs.emplace_back();
  for (Size sample = 0; sample < spec.batch; ++sample) {
    data.inputs[0].insert(data.inputs[0].end(), logits.begin(), logits.end());
    data.labels.push_back(label);
  }
  return data;
}

}  // namespace

TEST_CASE("the loss agrees with the loops in double") {
  for (const SoftmaxCrossEntropySpec& spec : loss_specs()) {
    OperatorData data = make_data(spec, 5, Values::uniform);
    check_loss(spec, data);
    for (float& logit : data.inputs[0]) logit *= 32;  // confident, as after training; no rounding
    check_loss(spec, data);
    data.loss_scale = 1024;
    check_loss(spec, data);
  }
}

TEST_CASE("the loss survives logits that overflow an exponential") {
  const SoftmaxCrossEntropySpec spec{.batch = 5, .classes = 3, .global_batch = 5};
  check_loss(spec, repeated(spec, {1000, -1000, 0}, 0));
  check_loss(spec, repeated(spec, {1000, -1000, 0}, 1));
  check_loss(spec, repeated(spec, {-5000, -5000, -5000}, 2));
  check_loss(spec, repeated(spec, {88.8F, 88.8F, 88.8F}, 0));
}

TEST_CASE("a diverged model shows: logits that are not finite give a loss that is not") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const SoftmaxCrossEntropySpec spec{.batch = 9, .classes = 4, .global_batch = 9};
  for (const std::vector<float>& logits :
       {std::vector<float>{kNan, 0, 0, 0}, std::vector<float>{0, 0, kNan, 0},
        std::vector<float>{0, 0, 0, kNan}, std::vector<float>{kInfinity, 0, 0, 0},
        std::vector<float>{0, -kInfinity, 0, 0}}) {
    const OperatorData data = repeated(spec, logits, 1);
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          CHECK_FALSE(std::isfinite(result.loss[0]));
        });
  }
}

TEST_CASE("losses and gradients of the parts of a global batch add up to the whole") {
  const SoftmaxCrossEntropySpec whole{.batch = 10, .classes = 13, .global_batch = 10};
  const OperatorData data = make_data(whole, 6, Values::uniform);
  const ExpectedLoss expected = expected_loss(whole, data);
  for_each_backend([&](const KernelBackend& backend, int /*threads*/) {
    double loss = 0;
    std::vector<float> gradient;
    for (const Range range : {Range{0, 3}, Range{3, 4}, Range{4, 10}}) {
      const SoftmaxCrossEntropySpec part{range.size(), whole.classes, whole.global_batch};
      OperatorData slice;
      slice.inputs.emplace_back(data.inputs[0].begin() + range.begin * whole.classes,
                                data.inputs[0].begin() + range.end * whole.classes);
      slice.labels.assign(data.labels.begin() + range.begin, data.labels.begin() + range.end);
      const std::string candidate = backend.candidates(part).front();
      const OperatorResult result = OperatorHarness(backend, part, candidate, slice).run();
      loss += result.loss[0];
      const std::vector<float>& part_gradient = result.input_gradients[0];
      gradient.insert(gradient.end(), part_gradient.begin(), part_gradient.end());
    }
    CHECK(std::abs(loss - expected.loss[0].value) <= expected.loss[0].tolerance);
    CHECK(first_outside(gradient, expected.gradient) == -1);
  });
}

TEST_CASE("a loss scale multiplies the gradient of the loss and nothing else, without rounding") {
  for (const SoftmaxCrossEntropySpec& spec : loss_specs()) {
    const OperatorData data = make_data(spec, 7, Values::uniform);
    OperatorData scaled = data;
    scaled.loss_scale = 1024;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult plain = OperatorHarness(backend, spec, candidate, data).run();
          const OperatorResult result = OperatorHarness(backend, spec, candidate, scaled).run();
          CHECK(same_bits(result.loss, plain.loss));
          std::vector<float> expected = plain.input_gradients[0];
          for (float& gradient : expected) gradient *= scaled.loss_scale;
          CHECK(same_bits(result.input_gradients[0], expected));
        });
  }
}
