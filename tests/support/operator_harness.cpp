#include "tests/support/operator_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/error.h"
#include "src/base/random.h"

namespace ptbench::testing {
namespace {

/// Elements of each tensor of an operator.
struct Sizes {
  Size input = 0;
  Size output = 0;
  Size output_gradient = 0;
  Size input_gradient = 0;
  Size labels = 0;
  Size classes = 0;
  Size loss = 0;
};

Sizes sizes_of(const OperatorSpec& spec) {
  Sizes sizes;
  if (const auto* linear = std::get_if<LinearSpec>(&spec)) {
    sizes.input = linear->batch * linear->inputs;
    sizes.output = sizes.output_gradient = linear->batch * linear->outputs;
    sizes.input_gradient = linear->input_gradient ? sizes.input : 0;
  } else if (const auto* relu = std::get_if<ReluSpec>(&spec)) {
    sizes.input = sizes.output = sizes.output_gradient = relu->elements;
    sizes.input_gradient = relu->input_gradient ? sizes.input : 0;
  } else if (const auto* loss = std::get_if<SoftmaxCrossEntropySpec>(&spec)) {
    sizes.input = sizes.input_gradient = loss->batch * loss->classes;
    sizes.labels = loss->batch;
    sizes.classes = loss->classes;
    sizes.loss = 1;
  } else {
    ensure(false, "the harness knows every operator");
  }
  return sizes;
}

constexpr std::size_t count(Size size) { return static_cast<std::size_t>(size); }

std::vector<float> draw(Size elements, std::uint64_t seed, std::uint64_t stream, Values values) {
  const CounterRandom random(seed, stream);
  std::vector<float> drawn;
  for (Size i = 0; i < elements; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    drawn.push_back(values == Values::uniform ? random.uniform(index, -1, 1)
                                              : static_cast<float>(random.below(index, 7)) - 3);
  }
  return drawn;
}

/// One float or label after another, into a buffer.
template <class T>
void fill(const GuardedBuffer<T>& buffer, const std::vector<T>& values) {
  ensure(buffer.span().size() == values.size(), "data fits the operator");
  std::ranges::copy(values, buffer.span().begin());
}

template <class T>
bool holds(const GuardedBuffer<T>& buffer, const std::vector<T>& values) {
  return std::ranges::equal(buffer.span(), values);
}

template <class View, class Tensors>
std::vector<View> views_of(Tensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

}  // namespace

OperatorData make_data(const OperatorSpec& spec, std::uint64_t seed, Values values) {
  const Sizes sizes = sizes_of(spec);
  OperatorData data;
  std::uint64_t stream = 0;
  data.input = draw(sizes.input, seed, ++stream, values);
  data.output_gradient = draw(sizes.output_gradient, seed, ++stream, values);
  for (const ParameterSpec& parameter : parameters_of(spec))
    data.parameters.push_back(draw(parameter.shape.elements(), seed, ++stream, values));
  const CounterRandom random(seed, ++stream);
  for (Size i = 0; i < sizes.labels; ++i)
    data.labels.push_back(static_cast<std::int32_t>(
        random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(sizes.classes))));
  return data;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same_bits(const OperatorResult& a, const OperatorResult& b) {
  const auto same = [](const auto& left, const auto& right) { return same_bits(left, right); };
  return same(a.output, b.output) && same(a.input_gradient, b.input_gradient) &&
         same(a.loss, b.loss) && std::ranges::equal(a.gradients, b.gradients, same);
}

OperatorHarness::OperatorHarness(const KernelBackend& backend, const OperatorSpec& spec,
                                 std::string_view candidate, const OperatorData& data)
    : parameter_specs_(parameters_of(spec)),
      data_(data),
      plan_(backend.plan(spec, candidate)),
      input_(count(sizes_of(spec).input)),
      output_(count(sizes_of(spec).output)),
      output_gradient_(count(sizes_of(spec).output_gradient)),
      input_gradient_(count(sizes_of(spec).input_gradient)),
      parameters_(count(plan_->layout().elements)),
      gradients_(count(plan_->layout().elements)),
      labels_(count(sizes_of(spec).labels)),
      loss_(count(sizes_of(spec).loss)),
      workspace_((plan_->workspace_bytes() + 3) / 4),
      is_padding_(find_padding()) {
  fill(input_, data.input);
  fill(output_gradient_, data.output_gradient);
  fill(labels_, data.labels);
  plan_->import_parameters(views_of<std::span<const float>>(data.parameters), parameters_.span());
  imported_.assign(parameters_.span().begin(), parameters_.span().end());
  const auto workspace = std::as_writable_bytes(workspace_.span());
  operator_ = plan_->bind({.input = input_.span(),
                           .output = output_.span(),
                           .output_gradient = output_gradient_.span(),
                           .input_gradient = input_gradient_.span(),
                           .parameters = parameters_.span(),
                           .gradients = gradients_.span(),
                           .labels = labels_.span(),
                           .loss = loss_.span(),
                           .workspace = workspace.first(plan_->workspace_bytes())});
}

OperatorResult OperatorHarness::run() {
  forget_results();
  operator_->forward();
  operator_->backward();
  OperatorResult result;
  result.output.assign(output_.span().begin(), output_.span().end());
  result.input_gradient.assign(input_gradient_.span().begin(), input_gradient_.span().end());
  result.gradients = exported(gradients_.span());
  result.loss.assign(loss_.span().begin(), loss_.span().end());
  return result;
}

void OperatorHarness::forget_results() {
  constexpr float kForgotten = std::numeric_limits<float>::quiet_NaN();
  for (const auto* buffer : {&output_, &input_gradient_, &loss_})
    std::ranges::fill(buffer->span(), kForgotten);
  // Padding is the operator's own: zero when the arena was made, and it keeps it so.
  for (std::size_t i = 0; i < is_padding_.size(); ++i)
    if (!is_padding_[i]) gradients_.span()[i] = kForgotten;
}

std::vector<std::vector<float>> OperatorHarness::exported(std::span<const float> arena) const {
  std::vector<std::vector<float>> tensors;
  for (const ParameterSpec& parameter : parameter_specs_)
    tensors.emplace_back(count(parameter.shape.elements()),
                         std::numeric_limits<float>::quiet_NaN());
  plan_->export_parameters(arena, views_of<std::span<float>>(tensors));
  return tensors;
}

/// A layout is a permutation with padding: exporting an arena whose elements are their own indices
/// (exact up to 2^24) tells which elements are used.
std::vector<bool> OperatorHarness::find_padding() const {
  const std::size_t elements = parameters_.span().size();
  ensure(elements <= (std::size_t{1} << 24U), "arenas of tests are small");
  std::vector<float> indices;
  for (std::size_t i = 0; i < elements; ++i) indices.push_back(static_cast<float>(i));
  std::vector<bool> padding(elements, true);
  for (const std::vector<float>& tensor : exported(indices)) {
    for (const float index : tensor) {
      ensure(index >= 0 && index < static_cast<float>(elements), "tensors are exported whole");
      const auto element = static_cast<std::size_t>(index);
      ensure(padding[element], "every element of a tensor has its own place");
      padding[element] = false;
    }
  }
  return padding;
}

std::vector<std::vector<float>> OperatorHarness::exported_parameters() const {
  return exported(parameters_.span());
}

bool OperatorHarness::memory_intact() const {
  const bool guards = input_.intact() && output_.intact() && output_gradient_.intact() &&
                      input_gradient_.intact() && parameters_.intact() && gradients_.intact() &&
                      labels_.intact() && loss_.intact() && workspace_.intact();
  return guards && holds(input_, data_.input) && holds(output_gradient_, data_.output_gradient) &&
         holds(labels_, data_.labels) && holds(parameters_, imported_);
}

bool OperatorHarness::padding_is_zero() const {
  for (std::size_t i = 0; i < is_padding_.size(); ++i)
    if (is_padding_[i] && (parameters_.span()[i] != 0 || gradients_.span()[i] != 0)) return false;
  return true;
}

}  // namespace ptbench::testing
