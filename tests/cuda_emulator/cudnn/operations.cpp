// Single operations of graphs.
#include <array>
#include <string>

#include "tests/cuda_emulator/cudnn/graph.h"
#include "tests/cuda_emulator/cudnn/refusal.h"

namespace ptbench::emulator {
namespace {

using Name = Descriptor::Name;

/// The names of a convolution's attributes in one direction.
struct ConvolutionNames {
  Direction direction;
  Name convolution, image, filters, response, alpha, beta;
};

ConvolutionNames names_of(Descriptor::Type operation) {
  switch (operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {Direction::forward,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {Direction::data_gradient,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {Direction::filter_gradient,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

/// A tensor that an operation is given.
Tensor operand(const Descriptor& operation, Name name) {
  const Descriptor& descriptor = operation.descriptor(name);
  if (descriptor.type() != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
    bad_parameter("an operation is given another descriptor in place of a tensor");
  return tensor_of(descriptor);
}

ConvolutionAxis axis_of(const Descriptor& convolution, const Convolution& operation,
                        std::size_t axis) {
  const auto parameter = [&](Name name) { return convolution.all<std::int64_t>(name)[axis]; };
  const std::int64_t size = operation.image.dimensions[2 + axis];
  const std::int64_t window = operation.filters.dimensions[2 + axis];
  const std::int64_t stride = parameter(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const std::int64_t before = parameter(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const std::int64_t padded = before + size + parameter(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  if (padded < window || (padded - window) / stride + 1 != operation.response.dimensions[2 + axis])
    bad_parameter("a convolution of " + shape_of(operation.image) + " with filters of " +
                  shape_of(operation.filters) + " has no result of " +
                  shape_of(operation.response));
  return {.size = static_cast<std::size_t>(size),
          .window = static_cast<std::size_t>(window),
          .responses = static_cast<std::size_t>(operation.response.dimensions[2 + axis]),
          .stride = static_cast<std::size_t>(stride),
          .padding = static_cast<std::size_t>(before)};
}

ConvolutionShape shape_of(const Descriptor& convolution, const Convolution& operation) {
  for (const Tensor* tensor : {&operation.image, &operation.filters, &operation.response})
    if (tensor->dimensions.size() != 4)
      bad_parameter("a convolution over two dimensions is given a tensor of " + shape_of(*tensor));
  const std::int64_t channels = operation.image.dimensions[1];
  const std::int64_t filters = operation.filters.dimensions[0];
  if (operation.image.dimensions[0] != operation.response.dimensions[0] ||
      filters != operation.response.dimensions[1] ||
      channels % operation.filters.dimensions[1] != 0)
    bad_parameter("a convolution's tensors do not go together: " + shape_of(operation.image) +
                  ", " + shape_of(operation.filters) + ", " + shape_of(operation.response));
  if (channels != operation.filters.dimensions[1])
    not_supported("convolutions in groups of channels are not emulated");
  return {.images = static_cast<std::size_t>(operation.image.dimensions[0]),
          .channels = static_cast<std::size_t>(channels),
          .filters = static_cast<std::size_t>(filters),
          .vertical = axis_of(convolution, operation, 0),
          .horizontal = axis_of(convolution, operation, 1)};
}

void check_operands(const Convolution& convolution) {
  const Tensor& result = convolution.result();
  for (const Tensor* tensor : {&convolution.image, &convolution.filters, &convolution.response})
    if (tensor != &result && tensor->is_virtual)
      throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN,
                    "a convolution of what the graph computes is not emulated");
  if (result.is_virtual && result.element != Element::f32)
    throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a virtual tensor is not fp32");
  if (result.is_virtual && convolution.beta != 0)
    bad_parameter("a convolution is added to a virtual tensor");
}

}  // namespace

const Tensor& Convolution::result() const {
  switch (direction) {
    case Direction::forward: return response;
    case Direction::data_gradient: return image;
    default: return filters;
  }
}

bool Convolution::has_equal_operands() const {
  const Element first = direction == Direction::data_gradient ? response.element : image.element;
  const Element second =
      direction == Direction::filter_gradient ? response.element : filters.element;
  return first == second;
}

void check_convolution(const Descriptor& descriptor) {
  constexpr std::array kLists{
      CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
      CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS};
  const auto axes = descriptor.one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  for (const Name name : kLists) {
    const std::vector<std::int64_t> list = descriptor.all<std::int64_t>(name);
    if (static_cast<std::int64_t>(list.size()) != axes)
      bad_parameter("a convolution over " + std::to_string(axes) + " dimensions is given " +
                    std::to_string(list.size()) + " paddings, strides or dilations");
    const bool is_step =
        name == CUDNN_ATTR_CONVOLUTION_DILATIONS || name == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES;
    for (const std::int64_t value : list)
      if (value < (is_step ? 1 : 0))
        bad_parameter("a convolution has a padding, stride or dilation of " +
                      std::to_string(value));
  }
  if (axes != 2) not_supported("convolutions are emulated over two dimensions only");
  for (const std::int64_t value : descriptor.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS))
    if (value != 1) not_supported("dilated convolutions are not emulated");
  if (descriptor.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT)
    not_supported("convolutions are emulated with sums in fp32 only");
  if (descriptor.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
      CUDNN_CROSS_CORRELATION)
    not_supported("convolutions are emulated as cross-correlations only");
}

Convolution convolution_of(const Descriptor& operation) {
  const ConvolutionNames names = names_of(operation.type());
  const Descriptor& descriptor = operation.descriptor(names.convolution);
  if (descriptor.type() != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
    bad_parameter("an operation is given another descriptor in place of a convolution");
  Convolution convolution{.direction = names.direction,
                          .image = operand(operation, names.image),
                          .filters = operand(operation, names.filters),
                          .response = operand(operation, names.response),
                          .shape = {},
                          .alpha = static_cast<float>(operation.number(names.alpha, 1)),
                          .beta = static_cast<float>(operation.number(names.beta, 0))};
  convolution.shape = shape_of(descriptor, convolution);
  check_operands(convolution);
  return convolution;
}

void check_pointwise(const Descriptor& descriptor) {
  const auto mode = descriptor.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  if (mode != CUDNN_POINTWISE_ADD && mode != CUDNN_POINTWISE_RELU_FWD &&
      mode != CUDNN_POINTWISE_IDENTITY)
    not_supported("pointwise mode " + std::to_string(mode) + " is not emulated");
  if (descriptor.one<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT)
    not_supported("pointwise operations are emulated in fp32 only");
}

Pointwise pointwise_of(const Descriptor& operation) {
  const Descriptor& descriptor = operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (descriptor.type() != CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
    bad_parameter("an operation is given another descriptor in place of a pointwise one");
  Pointwise pointwise{
      .mode = descriptor.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE),
      .x = operand(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
      .b = std::nullopt,
      .y = operand(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC),
      .x_factor = static_cast<float>(operation.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1)),
      .b_factor = static_cast<float>(operation.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1)),
      .keeps_nan = descriptor.has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
                   descriptor.one<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) ==
                       CUDNN_PROPAGATE_NAN};
  if (operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
    pointwise.b = operand(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (pointwise.b.has_value() != (pointwise.mode == CUDNN_POINTWISE_ADD))
    bad_parameter("a pointwise operation has too many or too few operands");
  for (const Tensor* tensor : {&pointwise.x, pointwise.b ? &*pointwise.b : &pointwise.x}) {
    if (tensor->dimensions.size() != pointwise.y.dimensions.size())
      bad_parameter("a pointwise operation's tensors differ in their number of dimensions");
    for (std::size_t index = 0; index < tensor->dimensions.size(); ++index)
      if (tensor->dimensions[index] != 1 &&
          tensor->dimensions[index] != pointwise.y.dimensions[index])
        bad_parameter("a pointwise operation of " + shape_of(*tensor) + " has no result of " +
                      shape_of(pointwise.y));
  }
  return pointwise;
}

}  // namespace ptbench::emulator
