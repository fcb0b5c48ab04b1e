// Operators that ptbench does not have, written against the interface that it has: what a
// transformer adds (layer norm, embedding, attention) needs no other Bindings, layouts or arenas.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "kernels/operator.h"
#include "kernels/reference/arithmetic.h"
#include "src/base/error.h"
#include "src/base/random.h"
#include "tests/support/guarded_buffer.h"

namespace {

using namespace ptbench;
using namespace ptbench::testing;
using reference::Matrix;
using reference::put_gradient;

constexpr std::size_t count(Size size) { return static_cast<std::size_t>(size); }

std::span<const float> input_of(const Bindings& bound, std::size_t index = 0) {
  return elements<float>(bound.inputs[index]);
}
std::span<const float> output_gradient_of(const Bindings& bound) {
  return elements<float>(bound.output_gradients[0]);
}
std::span<float> input_gradient_of(const Bindings& bound, std::size_t index = 0) {
  return elements<float>(bound.input_gradients[index]);
}

/// rows × columns, normalised over the columns of each row; weight and bias a column.
struct LayerNormSizes {
  Size rows = 0;
  Size columns = 0;
  /// Where the bias begins: each tensor on cache lines of its own.
  [[nodiscard]] Size bias_begin() const { return round_up(columns, 16); }
};

/// Keeps the statistics of each row in the saved memory, as batch norm does.
class LayerNorm final : public Operator {
 public:
  LayerNorm(const LayerNormSizes& sizes, Bindings bound)
      : sizes_(sizes), bound_(std::move(bound)) {}

  void forward() override {
    const Matrix x(input_of(bound_), sizes_.columns);
    const Matrix y(elements<float>(bound_.output), sizes_.columns);
    const auto n = static_cast<double>(sizes_.columns);
    for (Size row = 0; row < sizes_.rows; ++row) {
      double sum = 0;
      double squares = 0;
      for (Size c = 0; c < sizes_.columns; ++c) sum += double{x(row, c)};
      for (Size c = 0; c < sizes_.columns; ++c) squares += std::pow(x(row, c) - sum / n, 2);
      statistics()(row, 0) = static_cast<float>(sum / n);
      statistics()(row, 1) = static_cast<float>(1 / std::sqrt(squares / n + 1e-5));
      for (Size c = 0; c < sizes_.columns; ++c)
        y(row, c) = static_cast<float>(weight(c) * normal(row, c) +
                                       bound_.parameters[count(sizes_.bias_begin() + c)]);
    }
  }

  void backward(GradientMode mode) override {
    const Matrix dy(output_gradient_of(bound_), sizes_.columns);
    const Matrix dx(input_gradient_of(bound_), sizes_.columns);
    const auto n = static_cast<double>(sizes_.columns);
    for (Size c = 0; c < sizes_.columns; ++c) {
      double weight_sum = 0;
      double bias_sum = 0;
      for (Size row = 0; row < sizes_.rows; ++row) {
        weight_sum += dy(row, c) * normal(row, c);
        bias_sum += double{dy(row, c)};
      }
      put_gradient(mode, weight_sum, bound_.gradients[count(c)]);
      put_gradient(mode, bias_sum, bound_.gradients[count(sizes_.bias_begin() + c)]);
    }
    for (Size row = 0; row < sizes_.rows; ++row) {
      double sum = 0;
      double product = 0;
      for (Size c = 0; c < sizes_.columns; ++c) {
        sum += dy(row, c) * weight(c);
        product += dy(row, c) * weight(c) * normal(row, c);
      }
      for (Size c = 0; c < sizes_.columns; ++c)
        dx(row, c) = static_cast<float>(statistics()(row, 1) * (dy(row, c) * weight(c) - sum / n -
                                                                normal(row, c) * product / n));
    }
  }

 private:
  [[nodiscard]] Matrix<float> statistics() const { return {elements<float>(bound_.saved), 2}; }
  [[nodiscard]] double weight(Size column) const { return bound_.parameters[count(column)]; }
  [[nodiscard]] double normal(Size row, Size column) const {
    const Matrix x(input_of(bound_), sizes_.columns);
    return (double{x(row, column)} - statistics()(row, 0)) * statistics()(row, 1);
  }

  LayerNormSizes sizes_;
  Bindings bound_;
};

class LayerNormPlan final : public OperatorPlan {
 public:
  explicit LayerNormPlan(const LayerNormSizes& sizes) : sizes_(sizes) {}
  [[nodiscard]] ParameterLayout layout() const override {
    const Size tensor = sizes_.bias_begin();
    return {2 * tensor, {{{0, tensor}, 0}, {{tensor, 2 * tensor}, 0}}};
  }
  [[nodiscard]] Bytes saved_bytes() const override {
    return 2 * sizeof(float) * static_cast<Bytes>(sizes_.rows);
  }
  [[nodiscard]] std::string description() const override { return "layer_norm"; }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    std::ranges::fill(arena, 0.0F);
    std::ranges::copy(tensors[0], arena.begin());
    std::ranges::copy(tensors[1], arena.begin() + sizes_.bias_begin());
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<LayerNorm>(sizes_, bindings);
  }

 private:
  LayerNormSizes sizes_;
};

/// Token ids to rows of a table. Ids have no gradient; they are int32 in the bytes of the input.
struct EmbeddingSizes {
  Size tokens = 0;
  Size vocabulary = 0;
  Size width = 0;
};

class Embedding final : public Operator {
 public:
  Embedding(const EmbeddingSizes& sizes, Bindings bound)
      : sizes_(sizes), bound_(std::move(bound)) {}

  void forward() override {
    for (Size token = 0; token < sizes_.tokens; ++token)
      std::ranges::copy(row_of(bound_.parameters, token),
                        elements<float>(bound_.output).begin() + token * sizes_.width);
  }

  void backward(GradientMode mode) override {
    if (mode == GradientMode::replace) std::ranges::fill(bound_.gradients, 0.0F);
    const Matrix dy(output_gradient_of(bound_), sizes_.width);
    for (Size token = 0; token < sizes_.tokens; ++token)
      for (Size c = 0; c < sizes_.width; ++c)
        row_of(bound_.gradients, token)[count(c)] += dy(token, c);
  }

 private:
  template <class T>
  [[nodiscard]] std::span<T> row_of(std::span<T> table, Size token) const {
    const std::int32_t id = elements<std::int32_t>(bound_.inputs[0])[count(token)];
    ensure(id >= 0 && id < sizes_.vocabulary, "a token lies outside the vocabulary");
    return table.subspan(count(id * sizes_.width), count(sizes_.width));
  }

  EmbeddingSizes sizes_;
  Bindings bound_;
};

class EmbeddingPlan final : public OperatorPlan {
 public:
  explicit EmbeddingPlan(const EmbeddingSizes& sizes) : sizes_(sizes) {}
  [[nodiscard]] ParameterLayout layout() const override {
    const Size elements = round_up(sizes_.vocabulary * sizes_.width, 16);
    return {elements, {{{0, elements}, 0}}};
  }
  [[nodiscard]] std::string description() const override { return "embedding"; }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    std::ranges::fill(std::ranges::copy(tensors[0], arena.begin()).out, arena.end(), 0.0F);
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<Embedding>(sizes_, bindings);
  }

 private:
  EmbeddingSizes sizes_;
};

/// softmax(Q·Kᵀ / √width)·V of one head; Q, K, V and the result are tokens × width.
struct AttentionSizes {
  Size tokens = 0;
  Size width = 0;
};

/// The saved memory keeps the probabilities, the scratch memory one row of their gradients.
class Attention final : public Operator {
 public:
  Attention(const AttentionSizes& sizes, Bindings bound)
      : sizes_(sizes), bound_(std::move(bound)) {}

  void forward() override {
    const Matrix q(input_of(bound_, 0), sizes_.width);
    const Matrix k(input_of(bound_, 1), sizes_.width);
    const Matrix v(input_of(bound_, 2), sizes_.width);
    const Matrix y(elements<float>(bound_.output), sizes_.width);
    const Matrix p(elements<float>(bound_.saved), sizes_.tokens);
    for (Size row = 0; row < sizes_.tokens; ++row) {
      double total = 0;
      for (Size other = 0; other < sizes_.tokens; ++other) {
        double score = 0;
        for (Size c = 0; c < sizes_.width; ++c) score += double{q(row, c)} * double{k(other, c)};
        p(row, other) = static_cast<float>(std::exp(score * scale()));
        total += double{p(row, other)};
      }
      for (Size other = 0; other < sizes_.tokens; ++other)
        p(row, other) = static_cast<float>(p(row, other) / total);
      for (Size c = 0; c < sizes_.width; ++c) {
        double sum = 0;
        for (Size other = 0; other < sizes_.tokens; ++other)
          sum += double{p(row, other)} * double{v(other, c)};
        y(row, c) = static_cast<float>(sum);
      }
    }
  }

  void backward(GradientMode /*mode*/) override {
    for (std::size_t input = 0; input < 3; ++input)
      std::ranges::fill(input_gradient_of(bound_, input), 0.0F);
    for (Size row = 0; row < sizes_.tokens; ++row) backward_of(row);
  }

 private:
  void backward_of(Size row) {
    const Matrix q(input_of(bound_, 0), sizes_.width);
    const Matrix k(input_of(bound_, 1), sizes_.width);
    const Matrix v(input_of(bound_, 2), sizes_.width);
    const Matrix dq(input_gradient_of(bound_, 0), sizes_.width);
    const Matrix dk(input_gradient_of(bound_, 1), sizes_.width);
    const Matrix dv(input_gradient_of(bound_, 2), sizes_.width);
    const Matrix dy(output_gradient_of(bound_), sizes_.width);
    const Matrix p(elements<float>(bound_.saved), sizes_.tokens);
    const std::span<double> dp = elements<double>(bound_.scratch);
    double mean = 0;
    for (Size other = 0; other < sizes_.tokens; ++other) {
      dp[count(other)] = 0;
      for (Size c = 0; c < sizes_.width; ++c) {
        dp[count(other)] += double{dy(row, c)} * double{v(other, c)};
        dv(other, c) += p(row, other) * dy(row, c);
      }
      mean += p(row, other) * dp[count(other)];
    }
    for (Size other = 0; other < sizes_.tokens; ++other) {
      const double score = p(row, other) * (dp[count(other)] - mean) * scale();
      for (Size c = 0; c < sizes_.width; ++c) {
        dq(row, c) += static_cast<float>(score * k(other, c));
        dk(other, c) += static_cast<float>(score * q(row, c));
      }
    }
  }

  [[nodiscard]] double scale() const { return 1 / std::sqrt(static_cast<double>(sizes_.width)); }

  AttentionSizes sizes_;
  Bindings bound_;
};

class AttentionPlan final : public OperatorPlan {
 public:
  explicit AttentionPlan(const AttentionSizes& sizes) : sizes_(sizes) {}
  [[nodiscard]] Bytes saved_bytes() const override {
    return sizeof(float) * static_cast<Bytes>(sizes_.tokens * sizes_.tokens);
  }
  [[nodiscard]] Bytes scratch_bytes() const override {
    return sizeof(double) * static_cast<Bytes>(sizes_.tokens);
  }
  [[nodiscard]] std::string description() const override { return "attention"; }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<Attention>(sizes_, bindings);
  }

 private:
  AttentionSizes sizes_;
};

std::vector<float> drawn(Size elements, std::uint64_t stream) {
  const CounterRandom random(5, stream);
  std::vector<float> values;
  for (Size i = 0; i < elements; ++i)
    values.push_back(random.uniform(static_cast<std::uint64_t>(i), -1, 1));
  return values;
}

/// An operator bound to memory of its own, as a program binds it: `inputs` bytes each, of which
/// those that are `differentiable` have gradients of the same length.
class Bound {
 public:
  Bound(const OperatorPlan& plan, const std::vector<std::size_t>& inputs, bool differentiable,
        Size outputs)
      : output_(count(outputs)),
        output_gradient_(count(outputs)),
        parameters_(count(plan.layout().elements)),
        gradients_(count(plan.layout().elements)),
        saved_(plan.saved_bytes()),
        scratch_(plan.scratch_bytes()) {
    Bindings bindings;
    for (const std::size_t bytes : inputs) {
      inputs_.emplace_back(bytes);
      input_gradients_.emplace_back(differentiable ? bytes : 0);
      bindings.inputs.emplace_back(inputs_.back().bytes());
      bindings.input_gradients.push_back(input_gradients_.back().bytes());
    }
    bindings.output = output_.bytes();
    bindings.output_gradients = {output_gradient_.bytes()};
    bindings.parameters = parameters_.span();
    bindings.gradients = gradients_.span();
    bindings.saved = saved_.bytes();
    bindings.scratch = scratch_.bytes();
    std::ranges::copy(drawn(outputs, 99), output_gradient_.span().begin());
    operator_ = plan.bind(bindings);
  }

  [[nodiscard]] std::span<std::byte> input(std::size_t index) const {
    return inputs_[index].bytes();
  }
  [[nodiscard]] std::span<float> parameters() const { return parameters_.span(); }

  /// Σ output · output gradient.
  [[nodiscard]] double loss() {
    operator_->forward();
    double sum = 0;
    for (std::size_t i = 0; i < output_.span().size(); ++i)
      sum += double{output_.span()[i]} * double{output_gradient_.span()[i]};
    return sum;
  }

  /// Backward against central differences of the loss in every float of inputs and parameters.
  void check_gradients() {
    (void)loss();
    std::ranges::fill(scratch_.span(), std::byte{0xff});
    operator_->backward(GradientMode::replace);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      check(elements<float>(inputs_[i].bytes()), elements<float>(input_gradients_[i].bytes()));
    check(parameters_.span(), gradients_.span());
    check_sum();
    const auto intact = [](const auto& buffer) { return buffer.intact(); };
    CHECK(std::ranges::all_of(inputs_, intact));
    CHECK(std::ranges::all_of(input_gradients_, intact));
    CHECK((output_.intact() && output_gradient_.intact() && parameters_.intact()));
    CHECK((gradients_.intact() && saved_.intact() && scratch_.intact()));
  }

 private:
  /// Another pass that adds: twice the gradients.
  void check_sum() {
    const std::vector<float> once(gradients_.span().begin(), gradients_.span().end());
    (void)loss();
    operator_->backward(GradientMode::add);
    for (std::size_t i = 0; i < once.size(); ++i)
      CHECK(gradients_.span()[i] == Approx(2 * once[i]).margin(1e-6));
  }

  /// Steps of 1/128: truncation (h²/6 of the third derivative) and float's rounding (some ε/h) both
  /// stay near 1e-5; a wrong term would be off by some percent.
  void check(std::span<float> variables, std::span<const float> gradient) {
    constexpr float kStep = 1.0F / 128;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float kept = variables[i];
      variables[i] = kept + kStep;
      const double above = loss();
      variables[i] = kept - kStep;
      const double below = loss();
      variables[i] = kept;
      INFO("element " << i);
      CHECK(gradient[i] == Approx((above - below) / (2 * double{kStep})).epsilon(0).margin(5e-4));
    }
  }

  std::vector<GuardedBuffer<std::byte>> inputs_;
  std::vector<GuardedBuffer<std::byte>> input_gradients_;
  GuardedBuffer<float> output_;
  GuardedBuffer<float> output_gradient_;
  GuardedBuffer<float> parameters_;
  GuardedBuffer<float> gradients_;
  GuardedBuffer<std::byte> saved_;
  GuardedBuffer<std::byte> scratch_;
  std::unique_ptr<Operator> operator_;
};

}  // namespace

TEST_CASE("layer norm fits the interface: parameters in two padded parts, statistics kept") {
  const LayerNormSizes sizes{.rows = 3, .columns = 7};
  constexpr Size kElements = 21;
  const LayerNormPlan plan(sizes);
  Bound bound(plan, {kElements * sizeof(float)}, true, kElements);
  std::ranges::copy(drawn(kElements, 1), elements<float>(bound.input(0)).begin());
  const std::vector<float> weight = drawn(sizes.columns, 2);
  const std::vector<float> bias = drawn(sizes.columns, 3);
  const std::vector<std::span<const float>> tensors{weight, bias};
  plan.import_parameters(tensors, bound.parameters());
  bound.check_gradients();
}

TEST_CASE("an embedding fits the interface: ids as bytes, no gradient of its input") {
  const EmbeddingSizes sizes{.tokens = 5, .vocabulary = 4, .width = 3};
  const EmbeddingPlan plan(sizes);
  Bound bound(plan, {5 * sizeof(std::int32_t)}, false, sizes.tokens * sizes.width);
  // One id twice, one not at all.
  std::ranges::copy(std::vector<std::int32_t>{2, 0, 2, 3, 0},
                    elements<std::int32_t>(bound.input(0)).begin());
  const std::vector<float> table = drawn(sizes.vocabulary * sizes.width, 1);
  const std::vector<std::span<const float>> tensors{table};
  plan.import_parameters(tensors, bound.parameters());
  bound.check_gradients();
}

TEST_CASE("attention fits the interface: three inputs, probabilities kept, scratch memory") {
  constexpr Size kElements = 12;
  const AttentionPlan plan({.tokens = 4, .width = 3});
  const std::size_t bytes = kElements * sizeof(float);
  Bound bound(plan, {bytes, bytes, bytes}, true, kElements);
  for (std::size_t input = 0; input < 3; ++input)
    std::ranges::copy(drawn(kElements, 1 + input), elements<float>(bound.input(input)).begin());
  bound.check_gradients();
}
