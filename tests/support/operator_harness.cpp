#include "tests/support/operator_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/error.h"
#include "src/base/random.h"

namespace ptbench::testing {
namespace {

constexpr float kForgotten = std::numeric_limits<float>::quiet_NaN();

constexpr std::size_t count(Size size) { return static_cast<std::size_t>(size); }

/// Values that a tensor of `type` can hold.
std::vector<float> draw(const Shape& shape, ElementType type, const CounterRandom& random,
                        Values values) {
  const std::uint64_t most = bytes_of(type) == sizeof(float) ? 3 : 1;
  std::vector<float> drawn;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(shape.elements()); ++i) {
    const float value =
        values == Values::uniform
            ? random.uniform(i, -1, 1)
            : static_cast<float>(random.below(i, 2 * most + 1)) - static_cast<float>(most);
    with_element(type, [&]<class T>(T) { drawn.push_back(to_float(from_float<T>(value))); });
  }
  return drawn;
}

template <class T>
void fill(const GuardedBuffer<T>& buffer, std::span<const T> values) {
  ensure(buffer.span().size() == values.size(), "data fits the operator");
  std::ranges::copy(values, buffer.span().begin());
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

template <class View, class Owner>
std::vector<View> views_of(Owner& tensors) {
  return {tensors.begin(), tensors.end()};
}

template <class Buffers>
bool all_intact(const Buffers& buffers) {
  return std::ranges::all_of(buffers, [](const auto& buffer) { return buffer.intact(); });
}

}  // namespace

OperatorData make_data(const OperatorSpec& spec, std::uint64_t seed, Values values) {
  const OperatorTensors tensors = tensors_of(spec);
  OperatorData data;
  std::uint64_t stream = 0;
  const auto drawn = [&](const Shape& shape, ElementType type) {
    return draw(shape, type, CounterRandom(seed, ++stream), values);
  };
  for (const TensorSpec& input : tensors.inputs)
    data.inputs.push_back(drawn(input.shape, input.type));
  for (Size term = 0; term < tensors.gradient_terms; ++term)
    data.output_gradients.push_back(drawn(tensors.output->shape, tensors.output->type));
  // Parameters stay f32; small integers are as small as the activations'.
  const ElementType type =
      values == Values::integers ? tensors.inputs.front().type : ElementType::f32;
  for (const ParameterSpec& parameter : parameters_of(spec))
    data.parameters.push_back(drawn(parameter.shape, type));
  for (const ParameterSpec& buffer : buffers_of(spec)) {
    data.buffers.push_back(drawn(buffer.shape, ElementType::f32));
    // A variance stays positive.
    for (float& value : data.buffers.back()) value = buffer.center + 0.5F * value;
  }
  const CounterRandom random(seed, ++stream);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(tensors.labels); ++i)
    data.labels.push_back(static_cast<std::int32_t>(
        random.below(i, static_cast<std::uint64_t>(tensors.inputs.front().shape[1]))));
  return data;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same_bits(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](std::span<const float> left, std::span<const float> right) {
    return same_bits(left, right);
  });
}

bool same_bits(const OperatorResult& a, const OperatorResult& b) {
  return same_bits(a.output, b.output) && same_bits(a.input_gradients, b.input_gradients) &&
         same_bits(a.gradients, b.gradients) && same_bits(a.buffers, b.buffers) &&
         same_bits(a.loss, b.loss);
}

bool same_values(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b);
}

bool same_values(const Tensors& a, const Tensors& b) { return std::ranges::equal(a, b); }

OperatorHarness::OperatorHarness(const KernelBackend& backend, const OperatorSpec& spec,
                                 std::string_view candidate, const OperatorData& data)
    : backend_(&backend),
      tensors_(tensors_of(spec)),
      parameter_specs_(parameters_of(spec)),
      buffer_specs_(buffers_of(spec)),
      is_fork_(std::holds_alternative<ForkSpec>(spec)),
      data_(data),
      plan_(backend.plan(spec, candidate)),
      inputs_(imported(tensors_.inputs, data.inputs)),
      output_(tensors_.output && !is_fork_ ? allocate({*tensors_.output}) : Memory()),
      output_gradients_(
          tensors_.output
              ? imported({count(tensors_.gradient_terms), *tensors_.output}, data.output_gradients)
              : Memory()),
      parameters_(count(plan_->layout().elements)),
      gradients_(count(plan_->layout().elements)),
      buffers_(count(elements_of(buffer_specs_))),
      labels_(data.labels.size()),
      loss_(tensors_.output ? 0 : 1),
      loss_scale_(tensors_.output ? 0 : 1),
      prepared_(plan_->prepared_bytes()),
      saved_(plan_->saved_bytes()),
      scratch_(plan_->scratch_bytes()),
      addends_(plan_->addend_bytes()),
      is_padding_(find_padding()) {
  for (std::size_t i = 0; i < tensors_.inputs.size(); ++i) {
    const bool needed = tensors_.input_gradient && data.unneeded != i;
    input_gradients_.emplace_back(needed ? backend.bytes_of(tensors_.inputs[i]) : 0);
  }
  ensure(labels_.span().size() == count(tensors_.labels), "labels fit the operator");
  fill<std::int32_t>(labels_, data.labels);
  std::ranges::fill(loss_scale_.span(), data.loss_scale);
  for (const auto* memory : {&inputs_, &output_gradients_})
    for (const GuardedBuffer<std::byte>& buffer : *memory) fed_.push_back(copy_of(buffer.bytes()));
  operator_ = plan_->bind(bindings());
  set_parameters(data.parameters);
}

OperatorHarness::Memory OperatorHarness::allocate(const std::vector<TensorSpec>& tensors) const {
  Memory memory;
  for (const TensorSpec& tensor : tensors) memory.emplace_back(backend_->bytes_of(tensor));
  return memory;
}

OperatorHarness::Memory OperatorHarness::imported(const std::vector<TensorSpec>& tensors,
                                                  const Tensors& data) const {
  ensure(tensors.size() == data.size(), "data fits the operator");
  Memory memory = allocate(tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ensure(data[i].size() == count(tensors[i].shape.elements()), "data fits its tensor");
    backend_->import_tensor(tensors[i], data[i], memory[i].bytes());
  }
  return memory;
}

Bindings OperatorHarness::bindings() const {
  Bindings bound;
  for (const auto& input : inputs_) bound.inputs.emplace_back(input.bytes());
  bound.output = output_memory();
  for (const auto& gradient : output_gradients_)
    bound.output_gradients.emplace_back(gradient.bytes());
  for (const auto& gradient : input_gradients_) bound.input_gradients.push_back(gradient.bytes());
  bound.parameters = parameters_.span();
  bound.gradients = gradients_.span();
  bound.buffers = buffers_.span();
  bound.labels = labels_.span();
  bound.loss = loss_.span();
  bound.loss_scale = loss_scale_.span();
  bound.prepared = prepared_.span();
  bound.saved = saved_.span();
  bound.scratch = scratch_.span();
  bound.addends = addends_.span();
  return bound;
}

/// A fork's output lies where its input lies.
std::span<std::byte> OperatorHarness::output_memory() const {
  if (is_fork_) return inputs_.front().bytes();
  return output_.empty() ? std::span<std::byte>() : output_.front().bytes();
}

void OperatorHarness::set_parameters(const Tensors& parameters) {
  data_.parameters = parameters;
  plan_->import_parameters(views_of<std::span<const float>>(parameters), parameters_.span());
  imported_.assign(parameters_.span().begin(), parameters_.span().end());
  operator_->parameters_changed();
}

OperatorResult OperatorHarness::run() {
  forget_gradients();
  return run_passes([](Operator& made) { made.backward(GradientMode::replace); });
}

OperatorResult OperatorHarness::add_to(const Tensors& gradients) {
  plan_->import_parameters(views_of<std::span<const float>>(gradients), gradients_.span());
  return run_passes([](Operator& made) { made.backward(GradientMode::add); });
}

OperatorResult OperatorHarness::run_and_update(bool keep_gradients) {
  forget_gradients();
  std::vector<float> told(gradients_.span().size(), kForgotten);
  std::vector<int> times(told.size(), 0);
  const auto update = [&](int /*member*/, Range piece, std::span<const float> gradients) {
    ensure(piece.size() == static_cast<Size>(gradients.size()), "a piece has its gradients");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::size_t element = count(piece.begin) + i;
      told[element] = gradients[i];
      parameters_.span()[element] -= gradients[i];
      ++times[element];
    }
  };
  OperatorResult result =
      run_passes([&](Operator& made) { made.backward_and_update(keep_gradients, update); });
  ensure(std::ranges::max(times) <= 1, "no element is updated twice");
  imported_.assign(parameters_.span().begin(), parameters_.span().end());
  result.gradients = exported(told);
  return result;
}

OperatorResult OperatorHarness::run_passes(FunctionRef<void(Operator&)> backward) {
  forget_results();
  operator_->forward();
  forget_scratch();
  backward(*operator_);
  return results();
}

OperatorResult OperatorHarness::evaluate() {
  forget_results();
  operator_->evaluate();
  OperatorResult result;
  if (tensors_.output) result.output = export_result(*tensors_.output, output_memory());
  result.buffers = buffer_tensors();
  result.loss.assign(loss_.span().begin(), loss_.span().end());
  return result;
}

void OperatorHarness::forget_results() {
  constexpr std::byte kNanByte{0xff};
  for (const auto* memory : {&output_, &input_gradients_})
    for (const auto& buffer : *memory) std::ranges::fill(buffer.bytes(), kNanByte);
  std::ranges::fill(loss_.span(), kForgotten);
  auto place = buffers_.span().begin();
  for (const std::vector<float>& buffer : data_.buffers)
    place = std::ranges::copy(buffer, place).out;
  forget_scratch();
}

/// Padding is the operator's own: zero when the arena was made, and it keeps it so.
void OperatorHarness::forget_gradients() const {
  for (std::size_t i = 0; i < is_padding_.size(); ++i)
    if (!is_padding_[i]) gradients_.span()[i] = kForgotten;
}

void OperatorHarness::forget_scratch() const {
  for (const auto& memory : {scratch_.span(), addends_.span()})
    std::ranges::fill(memory, std::byte{0xff});
}

OperatorResult OperatorHarness::results() {
  OperatorResult result;
  if (tensors_.output) result.output = export_result(*tensors_.output, output_memory());
  for (std::size_t i = 0; i < tensors_.inputs.size(); ++i)
    result.input_gradients.push_back(
        export_result(tensors_.inputs[i], input_gradients_[i].bytes()));
  result.gradients = exported(gradients_.span());
  result.buffers = buffer_tensors();
  result.loss.assign(loss_.span().begin(), loss_.span().end());
  return result;
}

/// Nothing from no memory. What importing the values again does not restore is padding that the
/// operator left dirty.
std::vector<float> OperatorHarness::export_result(const TensorSpec& tensor,
                                                  std::span<const std::byte> memory) {
  if (memory.empty()) return {};
  std::vector<float> values(count(tensor.shape.elements()), kForgotten);
  backend_->export_tensor(tensor, memory, values);
  if (tensor.format == TensorFormat::native) {
    const GuardedBuffer<std::byte> clean(memory.size());
    backend_->import_tensor(tensor, values, clean.bytes());
    if (!std::ranges::equal(clean.bytes(), memory)) tensors_padded_with_zeros_ = false;
  }
  return values;
}

Tensors OperatorHarness::exported(std::span<const float> arena) const {
  Tensors tensors;
  for (const ParameterSpec& parameter : parameter_specs_)
    tensors.emplace_back(count(parameter.shape.elements()), kForgotten);
  plan_->export_parameters(arena, views_of<std::span<float>>(tensors));
  return tensors;
}

Tensors OperatorHarness::buffer_tensors() const {
  Tensors tensors;
  std::span<const float> rest = buffers_.span();
  for (const ParameterSpec& buffer : buffer_specs_) {
    const auto values = rest.first(count(buffer.shape.elements()));
    tensors.emplace_back(values.begin(), values.end());
    rest = rest.subspan(values.size());
  }
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

Tensors OperatorHarness::exported_parameters() const { return exported(parameters_.span()); }

bool OperatorHarness::memory_intact() const {
  const bool guards = all_intact(inputs_) && all_intact(output_) && all_intact(output_gradients_) &&
                      all_intact(input_gradients_) && parameters_.intact() && gradients_.intact() &&
                      buffers_.intact() && labels_.intact() && loss_.intact() &&
                      loss_scale_.intact() && prepared_.intact() && saved_.intact() &&
                      scratch_.intact() && addends_.intact();
  std::size_t index = 0;
  bool kept = true;
  for (const auto* memory : {&inputs_, &output_gradients_})
    for (const auto& buffer : *memory)
      kept = kept && std::ranges::equal(buffer.bytes(), fed_[index++]);
  return guards && kept && std::ranges::equal(labels_.span(), data_.labels) &&
         same_bits(parameters_.span(), imported_) &&
         std::ranges::all_of(loss_scale_.span(),
                             [&](float scale) { return scale == data_.loss_scale; });
}

bool OperatorHarness::padding_is_zero() const {
  for (std::size_t i = 0; i < is_padding_.size(); ++i)
    if (is_padding_[i] && (parameters_.span()[i] != 0 || gradients_.span()[i] != 0)) return false;
  return tensors_padded_with_zeros_;
}

}  // namespace ptbench::testing
