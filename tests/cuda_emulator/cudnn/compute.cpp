#include "tests/cuda_emulator/cudnn/compute.h"

#include <cmath>
#include <string>
#include <vector>

#include "tests/cuda_emulator/arithmetic/workspace.h"

namespace ptbench::emulator {
namespace {

/// What reports call the tensors of a convolution.
struct Roles {
  const char* image;
  const char* filters;
  const char* response;
};

Roles roles_of(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return {"cuDNN convolution: x", "cuDNN convolution: w", "cuDNN convolution: y"};
    case Direction::data_gradient:
      return {"cuDNN data gradient: dx", "cuDNN data gradient: w", "cuDNN data gradient: dy"};
    default:
      return {"cuDNN filter gradient: x", "cuDNN filter gradient: dw", "cuDNN filter gradient: dy"};
  }
}

void touch_all(const Plan& plan, const Memory& memory) {
  const Convolution& convolution = plan.graph.convolution;
  const Roles roles = roles_of(convolution.direction);
  const auto touch_one = [&](const char* role, const Tensor& tensor) {
    const bool is_result = &tensor == &convolution.result();
    if (tensor.is_virtual || (is_result && convolution.beta == 0)) return;
    touch(role, memory.at(tensor.id), tensor, false);
  };
  touch_one(roles.image, convolution.image);
  touch_one(roles.filters, convolution.filters);
  touch_one(roles.response, convolution.response);
  for (const Pointwise& step : plan.graph.steps)
    if (step.b) touch("cuDNN pointwise: operand", memory.at(step.b->id), *step.b, false);
  const Tensor& result = plan.graph.result();
  const char* role = !plan.graph.steps.empty()                           ? "cuDNN pointwise: result"
                     : convolution.direction == Direction::forward       ? roles.response
                     : convolution.direction == Direction::data_gradient ? roles.image
                                                                         : roles.filters;
  touch(role, memory.at(result.id), result, true);
}

/// The convolution alone, [images][rows][columns][channels] of its result.
std::vector<float> convolved(const Plan& plan, const Memory& memory, SumOrder order) {
  const Convolution& convolution = plan.graph.convolution;
  const auto read = [&](const Tensor& tensor) {
    std::vector<float> values = dense(memory.at(tensor.id), tensor);
    if (plan.engine.rounds_inputs)
      for (float& value : values) value = round_to_tf32(value);
    return values;
  };
  std::vector<float> result(convolution.result().elements());
  switch (convolution.direction) {
    case Direction::forward:
      convolve(convolution.shape, read(convolution.image).data(), read(convolution.filters).data(),
               result.data());
      break;
    case Direction::data_gradient:
      convolve_to_image(convolution.shape, read(convolution.response).data(),
                        read(convolution.filters).data(), result.data());
      break;
    case Direction::filter_gradient:
      convolve_to_filters(convolution.shape, read(convolution.image).data(),
                          read(convolution.response).data(), order, result.data());
      break;
  }
  for (float& value : result) value *= convolution.alpha;
  return result;
}

/// values += beta · what the result was before.
void add_before(const Convolution& convolution, const Memory& memory, std::vector<float>& values) {
  if (convolution.beta == 0) return;
  const std::vector<float> before = dense(memory.at(convolution.result().id), convolution.result());
  for (std::size_t index = 0; index < values.size(); ++index)
    values[index] += convolution.beta * before[index];
}

void apply(const Pointwise& step, const Memory& memory, std::vector<float>& values) {
  for (float& value : values) value *= step.x_factor;
  if (step.mode == CUDNN_POINTWISE_RELU_FWD)
    for (float& value : values)
      if (value < 0 || (std::isnan(value) && !step.keeps_nan)) value = 0;
  if (!step.b) return;
  const Placement placement(*step.b, step.y);
  const void* data = memory.at(step.b->id);
  for_each_element(step.y, [&](std::size_t index, std::size_t image, std::size_t row,
                               std::size_t column, std::size_t channel) {
    values[index] +=
        step.b_factor * load(step.b->element, data, placement.at(image, row, column, channel));
  });
}

void write(const Tensor& tensor, const std::vector<float>& values, void* data) {
  const Placement placement(tensor, tensor);
  for_each_element(tensor, [&](std::size_t index, std::size_t image, std::size_t row,
                               std::size_t column, std::size_t channel) {
    store(tensor.element, data, placement.at(image, row, column, channel), values[index]);
  });
}

}  // namespace

void compute(const Plan& plan, const Memory& memory, void* workspace, SumOrder order) {
  spoil("cuDNN: workspace", workspace, static_cast<std::size_t>(plan.engine.workspace_bytes));
  touch_all(plan, memory);
  std::vector<float> values = convolved(plan, memory, order);
  add_before(plan.graph.convolution, memory, values);
  for (const Pointwise& step : plan.graph.steps) apply(step, memory, values);
  write(plan.graph.result(), values, memory.at(plan.graph.result().id));
}

}  // namespace ptbench::emulator
