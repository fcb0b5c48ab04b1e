#include "kernels/reference/reference_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/reference/operators.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Size kArenaMultiple = 16;

void ensure_size(std::size_t size, std::size_t expected, const char* what) {
  ensure(size == expected, what);
}

std::size_t bytes_of_tensor(const TensorSpec& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * bytes_of(tensor.type);
}

void check_tensor(const TensorSpec& tensor) {
  ensure(tensor.shape.rank() > 0 && tensor.shape.elements() > 0, "an operator is empty");
  const std::size_t rank = tensor.shape.rank();
  ensure(tensor.format == TensorFormat::plain || rank == 4 || rank == 2,
         "native tensors are images, of one pixel where they are rows");
}

void check_spec(const OperatorSpec& spec) {
  const OperatorTensors tensors = tensors_of(spec);
  for (const TensorSpec& input : tensors.inputs) check_tensor(input);
  if (tensors.output) check_tensor(*tensors.output);
  ensure(tensors.gradient_terms >= (tensors.output ? 1 : 0), "an output has a gradient");
  reference::check_numbers(spec);
}

void check_activations(const OperatorSpec& spec, const Bindings& bound) {
  const OperatorTensors tensors = tensors_of(spec);
  ensure_size(bound.inputs.size(), tensors.inputs.size(), "number of inputs");
  ensure_size(bound.input_gradients.size(), tensors.inputs.size(), "number of input gradients");
  for (std::size_t i = 0; i < tensors.inputs.size(); ++i) {
    const std::size_t bytes = bytes_of_tensor(tensors.inputs[i]);
    ensure_size(bound.inputs[i].size(), bytes, "size of an input");
    const std::size_t gradient = bound.input_gradients[i].size();
    ensure(gradient == 0 || (tensors.input_gradient && gradient == bytes),
           "size of an input gradient");
  }
  ensure_size(bound.output_gradients.size(), static_cast<std::size_t>(tensors.gradient_terms),
              "number of output gradients");
  if (!tensors.output) return;
  const std::size_t bytes = bytes_of_tensor(*tensors.output);
  ensure_size(bound.output.size(), bytes, "size of the output");
  const bool has_backward = tensors.input_gradient || !parameters_of(spec).empty();
  for (const auto gradient : bound.output_gradients)
    ensure(gradient.size() == bytes || (gradient.empty() && !has_backward),
           "size of an output gradient");
}

}  // namespace

ReferencePlan::ReferencePlan(const OperatorSpec& spec) : spec_(spec) { check_spec(spec); }

ParameterLayout ReferencePlan::layout() const {
  const Size elements = round_up(elements_of(parameters_of(spec_)), kArenaMultiple);
  if (elements == 0) return {};
  return {elements, {{Range{0, elements}, 0}}};
}

Bytes ReferencePlan::saved_bytes() const { return reference::saved_bytes_of(spec_); }

Bytes ReferencePlan::scratch_bytes() const { return reference::scratch_bytes_of(spec_); }

std::string ReferencePlan::description() const {
  return fmt::format("{}: reference", key_of(spec_));
}

void ReferencePlan::import_parameters(std::span<const std::span<const float>> tensors,
                                      std::span<float> arena) const {
  const std::vector<ParameterSpec> specs = parameters_of(spec_);
  ensure_size(tensors.size(), specs.size(), "number of parameters");
  ensure_size(arena.size(), static_cast<std::size_t>(layout().elements), "size of the arena");
  auto place = arena.begin();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ensure_size(tensors[i].size(), static_cast<std::size_t>(specs[i].shape.elements()),
                "size of a parameter");
    place = std::ranges::copy(tensors[i], place).out;
  }
  std::fill(place, arena.end(), 0.0F);
}

void ReferencePlan::export_parameters(std::span<const float> arena,
                                      std::span<const std::span<float>> tensors) const {
  const std::vector<ParameterSpec> specs = parameters_of(spec_);
  ensure_size(tensors.size(), specs.size(), "number of parameters");
  ensure_size(arena.size(), static_cast<std::size_t>(layout().elements), "size of the arena");
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ensure_size(tensors[i].size(), static_cast<std::size_t>(specs[i].shape.elements()),
                "size of a parameter");
    std::ranges::copy(arena.first(tensors[i].size()), tensors[i].begin());
    arena = arena.subspan(tensors[i].size());
  }
}

std::unique_ptr<Operator> ReferencePlan::bind(const Bindings& bindings) const {
  check_activations(spec_, bindings);
  const bool is_loss = !tensors_of(spec_).output.has_value();
  const auto arena = static_cast<std::size_t>(layout().elements);
  ensure_size(bindings.parameters.size(), arena, "size of the parameters");
  ensure_size(bindings.gradients.size(), arena, "size of the gradients");
  ensure_size(bindings.buffers.size(), static_cast<std::size_t>(elements_of(buffers_of(spec_))),
              "size of the buffers");
  ensure_size(bindings.labels.size(), static_cast<std::size_t>(tensors_of(spec_).labels),
              "number of labels");
  ensure_size(bindings.loss.size(), is_loss ? 1 : 0, "size of the loss");
  ensure_size(bindings.loss_scale.size(), is_loss ? 1 : 0, "size of the loss scale");
  ensure(bindings.saved.size() >= saved_bytes(), "size of the saved memory");
  ensure(bindings.scratch.size() >= scratch_bytes(), "size of the scratch memory");
  return reference::make_operator(spec_, bindings);
}

}  // namespace ptbench
