// Convolutions against the plain loops in double, on values that do round, and by hand.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/cpu/image.h"
#include "kernels/reference/conv2d.h"
#include "src/device/isa.h"
#include "tests/support/backends.h"
#include "tests/support/doubles.h"
#include "tests/support/operator_harness.h"
#include "tests/support/operator_specs.h"
#include "tests/support/tested_device.h"
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
class Conv2dOracle {
 public:
  Conv2dOracle(const Conv2dSpec& spec, const OperatorData& data)
      : spec_(spec),
        input_(widened(data.inputs[0])),
        addend_(spec.add ? widened(data.inputs[1]) : Doubles()),
        weights_(multiplied_as(spec.type, data.parameters[0])),
        biases_(spec.bias ? added_as(spec.type, data.parameters[1]) : Doubles()),
        gradient_(widened(data.output_gradients[0])) {}

  [[nodiscard]] Bounded output() const {
    const auto forward = [&](const Doubles& x, const Doubles& z, const Doubles& w,
                             const Doubles& b) {
      Doubles y(gradient_.size());
      reference::conv2d_forward<double>(spec_, x, z, w, b, y);
      return y;
    };
    return {
        forward(input_, addend_, weights_, biases_),
        forward(magnitudes(input_), magnitudes(addend_), magnitudes(weights_), magnitudes(biases_)),
        spec_.input.channels * taps() + 2};
  }

  struct Gradients {
    Bounded weight;
    Bounded bias;
    Bounded input;
    Doubles addend;
  };

  /// `output` is the tested operator's own: where rounding decides the sign of a sum, it decides
  /// whether the rectifier lets the gradient through, and either is right.
  [[nodiscard]] Gradients gradients(const std::vector<float>& output) const {
    Gradients all;
    all.addend.resize(gradient_.size());
    reference::conv2d_open_gradient<double>(spec_, widened(output), gradient_, all.addend);
    for (const bool bound : {false, true}) {
      const auto seen = [&](const Doubles& values) { return bound ? magnitudes(values) : values; };
      Doubles dw(weights_.size());
      Doubles db(biases_.size());
      Doubles dx(spec_.input_gradient ? input_.size() : 0);
      reference::conv2d_backward<double>(spec_, seen(input_), seen(weights_), seen(all.addend),
                                         {dw, db, dx});
      (bound ? all.weight.magnitudes : all.weight.values) = dw;
      (bound ? all.bias.magnitudes : all.bias.values) = db;
      (bound ? all.input.magnitudes : all.input.values) = dx;
    }
    all.weight.terms = all.bias.terms = spec_.input.batch * spec_.output().pixels();
    all.input.terms = spec_.outputs * taps();
    return all;
  }

 private:
  [[nodiscard]] Size taps() const { return spec_.window.kernel_height * spec_.window.kernel_width; }

  Conv2dSpec spec_;
  Doubles input_;
  Doubles addend_;
  Doubles weights_;
  Doubles biases_;
  Doubles gradient_;
};

/// The root mean square of the differences over that of the values.
template <class Actual, class Values>
double differs_by(const Actual& actual, const Values& values) {
  REQUIRE(actual.size() == values.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    difference += (actual[i] - value) * (actual[i] - value);
    size += value * value;
  }
  return std::sqrt(difference / size);
}

/// What rounding in float makes of thousands of products by Winograd's filtering; one element in a
/// hundred thousand that is wrong is more.
constexpr double kRounding = 4e-6;
/// The same of bf16, in which patches and weights are rounded: a fifth more than that comes to.
constexpr double kRoundingBf16 = 6e-3;

bool same_mask(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return (x > 0) == (y > 0); });
}

/// One sample of one channel, 3 × 3, numbered from 1.
OperatorData three_by_three(const Conv2dSpec& spec, std::vector<float> weight) {
  OperatorData data = make_data(spec, 1, Values::integers);
  data.inputs = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  data.parameters = {std::move(weight)};
  return data;
}

/// Whether processors have candidates that filter by Winograd in this type.
bool has_filtering(ElementType type) {
  if (type == ElementType::f32) return detect_isa() == Isa::x86_64_v4;
  return has_bf16_products() && image_order(type) == ImageOrder::blocked;
}

/// Candidates that filter by Winograd, against one that does not.
void check_filtering(const Conv2dSpec& spec) {
  const double rounding = spec.type == ElementType::f32 ? kRounding : kRoundingBf16;
  const OperatorData data = make_data(spec, 6, Values::uniform);
  std::optional<OperatorResult> plain;
  int compared = 0;
  int widened = 0;
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int threads, const std::string& candidate) {
        if (threads > 1 || (plain && !is_winograd(candidate))) return;
        OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        if (!plain) {
          plain = std::move(result);
          return;
        }
        ++compared;
        if (candidate.find("winograd-widened") != std::string::npos) ++widened;
        CHECK(differs_by(result.output, plain->output) < rounding);
        CHECK(differs_by(result.input_gradients[0], plain->input_gradients[0]) < rounding);
        for (std::size_t i = 0; i < result.gradients.size(); ++i)
          CHECK(differs_by(result.gradients[i], plain->gradients[i]) < rounding);
      });
  CHECK((compared > 0) == (!tested_device() && has_filtering(spec.type)));
  CHECK((widened > 0) == (compared > 0 && spec.type == ElementType::bf16));
}

}  // namespace

TEST_CASE("convolutions agree with sums in double within their type's rounding") {
  for (const Conv2dSpec& spec : conv2d_specs()) {
    const OperatorData data = make_data(spec, 4, Values::uniform);
    const Conv2dOracle oracle(spec, data);
    const Bounded output = oracle.output();
    std::vector<float> mask;
    Conv2dOracle::Gradients gradients;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          const auto check = [&](const std::vector<float>& actual, ElementType type,
                                 const Bounded& bounded) {
            return first_outside(actual, expected(spec, type, bounded, is_winograd(candidate)));
          };
          CHECK(check(result.output, spec.type, output) == -1);
          if (mask.empty() || (spec.relu && !same_mask(mask, result.output))) {
            mask = result.output;
            gradients = oracle.gradients(mask);
          }
          CHECK(check(result.gradients[0], ElementType::f32, gradients.weight) == -1);
          if (spec.bias) CHECK(check(result.gradients[1], ElementType::f32, gradients.bias) == -1);
          CHECK(check(result.input_gradients[0], spec.type, gradients.input) == -1);
          if (spec.add) CHECK(std::ranges::equal(result.input_gradients[1], gradients.addend));
        });
  }
}

TEST_CASE("convolutions that are computed piece by piece give the same by every method") {
  // Larger than what one piece holds of a convolution by AMX products.
  for (const Conv2dSpec& spec :
       {Conv2dSpec{.input = {.batch = 1, .channels = 64, .height = 80, .width = 81},
                   .outputs = 64,
                   .window = Window::square(3, 1, 1),
                   .bias = true,
                   .type = ElementType::bf16},
        Conv2dSpec{.input = {.batch = 1, .channels = 32, .height = 171, .width = 130},
                   .outputs = 48,
                   .window = Window::square(3, 2, 1),
                   .type = ElementType::bf16}}) {
    const OperatorData data = make_data(spec, 5, Values::integers);
    std::optional<OperatorResult> first;
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          if (is_winograd(candidate)) return;  // multiplies by fractions
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          if (!first) first = result;
          CHECK(same_values(result.output, first->output));
          CHECK(same_values(result.input_gradients, first->input_gradients));
          CHECK(same_values(result.gradients, first->gradients));
        });
  }
}

TEST_CASE("Winograd's filtering of many tiles and channels agrees with plain sums", "[long]") {
  // More tiles than a chunk holds, channels that fill no last pair of blocks, edges that cut tiles;
  // then more weights than are kept transformed, of few tiles and, forward and backward, of many.
  check_filtering({.input = {.batch = 3, .channels = 40, .height = 33, .width = 38},
                   .outputs = 48,
                   .window = Window::square(3, 1, 1),
                   .bias = true});
  check_filtering({.input = {.batch = 2, .channels = 272, .height = 9, .width = 10},
                   .outputs = 80,
                   .window = Window::square(3, 1, 2)});
  check_filtering({.input = {.batch = 1, .channels = 320, .height = 45, .width = 46},
                   .outputs = 64,
                   .window = Window::square(3, 1, 0)});
  check_filtering({.input = {.batch = 1, .channels = 64, .height = 45, .width = 46},
                   .outputs = 320,
                   .window = Window::square(3, 1, 1)});
}

TEST_CASE("Winograd's filtering in bf16 of many tiles and channels agrees with plain sums") {
  // More tiles than a chunk holds; then parts of the weights' gradient, the last of which are cut.
  check_filtering({.input = {.batch = 3, .channels = 40, .height = 33, .width = 38},
                   .outputs = 48,
                   .window = Window::square(3, 1, 1),
                   .type = ElementType::bf16});
  check_filtering({.input = {.batch = 3, .channels = 272, .height = 9, .width = 9},
                   .outputs = 80,
                   .window = Window::square(3, 1, 1),
                   .type = ElementType::bf16});
}

TEST_CASE("filtering of stride 2 of many tiles and channels agrees with plain sums", "[long]") {
  check_filtering({.input = {.batch = 3, .channels = 40, .height = 66, .width = 75},
                   .outputs = 48,
                   .window = Window::square(3, 2, 1),
                   .bias = true});
  check_filtering({.input = {.batch = 2, .channels = 272, .height = 25, .width = 22},
                   .outputs = 80,
                   .window = Window::square(3, 2, 1)});
  check_filtering({.input = {.batch = 1, .channels = 128, .height = 80, .width = 79},
                   .outputs = 48,
                   .window = Window::square(3, 2, 1)});
}

TEST_CASE("Winograd's filtering in float rounds about four times as much as direct sums") {
  const Size stride = GENERATE(1, 2);
  const Conv2dSpec spec{
      .input = {.batch = 4, .channels = 64, .height = 12 * stride, .width = 12 * stride},
      .outputs = 64,
      .window = Window::square(3, stride, 1)};
  const OperatorData data = make_data(spec, 7, Values::uniform);
  const Conv2dOracle oracle(spec, data);
  const Doubles output = oracle.output().values;
  std::optional<Conv2dOracle::Gradients> gradients;
  std::optional<std::array<double, 3>> direct;
  std::vector<std::array<double, 3>> filtered;
  for_each_candidate(
      spec, [&](const KernelBackend& backend, int threads, const std::string& candidate) {
        if (threads > 1 || candidate == "reference") return;
        const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
        if (!gradients) gradients = oracle.gradients(result.output);
        const std::array<double, 3> errors{
            differs_by(result.output, output),
            differs_by(result.gradients[0], gradients->weight.values),
            differs_by(result.input_gradients[0], gradients->input.values)};
        if (is_winograd(candidate))
          filtered.push_back(errors);
        else
          direct = errors;
      });
  CHECK(!filtered.empty() == (!tested_device() && detect_isa() == Isa::x86_64_v4));
  for (const std::array<double, 3>& errors : filtered) {
    REQUIRE(direct);
    for (std::size_t i = 0; i < errors.size(); ++i) CHECK(errors[i] < 5 * direct->at(i));
  }
}

TEST_CASE("a diverged model shows behind a rectified convolution: NaN stays NaN") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::tf32}) {
    const Conv2dSpec spec{.input = {.batch = 1, .channels = 1, .height = 1, .width = 2},
                          .outputs = 1,
                          .window = Window::square(1),
                          .bias = true,
                          .relu = true,
                          .type = type};
    OperatorData data = make_data(spec, 1, Values::integers);
    data.inputs = {{kNan, 2}};
    data.parameters = {{-1}, {1}};
    data.output_gradients = {{3, 5}};
    for_each_candidate(
        spec, [&](const KernelBackend& backend, int /*threads*/, const std::string& candidate) {
          const OperatorResult result = OperatorHarness(backend, spec, candidate, data).run();
          CHECK(std::isnan(result.output[0]));
          CHECK(result.output[1] == 0);
          CHECK(result.gradients[1] == std::vector<float>{3});
          CHECK(result.input_gradients[0] == std::vector<float>{-3, 0});
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
