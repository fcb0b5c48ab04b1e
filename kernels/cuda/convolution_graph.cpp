#include "kernels/cuda/convolution_graph.h"

#include <array>
#include <span>
#include <utility>

#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

constexpr std::int64_t kBetween = 6;  ///< and on: what one operation gives the next

/// What engines load at once. Arenas place tensors at multiples of 16 floats, and their copies in
/// narrow types half as far from each other.
constexpr std::int64_t kTensorAlignment = 16;

using Four = std::array<std::int64_t, 4>;

/// cuDNN names dimensions in the order batch, channels, height, width wherever they lie.
struct TensorLayout {
  Four dimensions;
  Four strides;
};

TensorLayout channels_last(Size images, Size channels, Size height, Size width) {
  return {.dimensions = {images, channels, height, width},
          .strides = {height * width * channels, 1, width * channels, channels}};
}
TensorLayout layout_of(const ImageShape& image) {
  return channels_last(image.batch, image.channels, image.height, image.width);
}
TensorLayout weights_of(const Conv2dSpec& spec) {
  return channels_last(spec.outputs, spec.input.channels, spec.window.kernel_height,
                       spec.window.kernel_width);
}

cudnnDataType_t cudnn_type_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
    case ElementType::tf32: return CUDNN_DATA_FLOAT;
    case ElementType::bf16: return CUDNN_DATA_BFLOAT16;
    case ElementType::f16: return CUDNN_DATA_HALF;
  }
  return CUDNN_DATA_FLOAT;
}

Descriptor tensor(std::int64_t id, const TensorLayout& layout, cudnnDataType_t type,
                  bool is_virtual = false) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(layout.dimensions));
  made.set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(layout.strides));
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  made.finalize();
  return made;
}

Descriptor window_of(const Window& window) {
  using Two = std::array<std::int64_t, 2>;
  const Two padding{window.padding_height, window.padding_width};
  const Two strides{window.stride_height, window.stride_width};
  const Two dilations{1, 1};
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::span<const std::int64_t>(padding));
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::span<const std::int64_t>(padding));
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::span<const std::int64_t>(strides));
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::span<const std::int64_t>(dilations));
  made.finalize();
  return made;
}

/// The attributes of a convolution's operation, which every pass names for itself.
struct OperationNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t window;
  cudnnBackendAttributeName_t x;
  cudnnBackendAttributeName_t weights;
  cudnnBackendAttributeName_t y;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
};

OperationNames names_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionPass::data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::weights:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  throw Defect("unknown pass of a convolution");
}

using Handle = cudnnBackendDescriptor_t;

/// Descriptors that live as long as what refers to them.
class Parts {
 public:
  Handle keep(Descriptor part) { return parts_.emplace_back(std::move(part)).get(); }
  [[nodiscard]] std::vector<Descriptor> take() && { return std::move(parts_); }

 private:
  std::vector<Descriptor> parts_;
};

Descriptor convolution_of(const OperationNames& names, Handle window, Handle x, Handle weights,
                          Handle y) {
  Descriptor made(names.operation);
  made.set_descriptor(names.window, window);
  made.set_descriptor(names.x, x);
  made.set_descriptor(names.weights, weights);
  made.set_descriptor(names.y, y);
  made.set(names.alpha, 1.0F);
  made.set(names.beta, 0.0F);
  made.finalize();
  return made;
}

Descriptor pointwise(cudnnPointwiseMode_t mode) {
  Descriptor made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  made.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  if (mode == CUDNN_POINTWISE_RELU_FWD)
    made.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_PROPAGATE_NAN);
  made.finalize();
  return made;
}

/// to = mode(from), or mode(from, operand) where there is one.
Descriptor pointwise_of(Handle mode, Handle from, Handle operand, Handle to) {
  Descriptor made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
  made.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
  if (operand != nullptr) made.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, operand);
  made.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  made.finalize();
  return made;
}

/// What follows the convolution of a pass, element by element.
struct Step {
  cudnnPointwiseMode_t mode;
  Handle operand = nullptr;  ///< besides what the operation before gives
};

std::vector<Step> steps_of(const Conv2dSpec& spec, ConvolutionPass pass, Parts& parts) {
  if (pass == ConvolutionPass::weights && kept_type(spec.type) != ElementType::f32)
    return {{.mode = CUDNN_POINTWISE_IDENTITY}};  // narrow to f32
  std::vector<Step> steps;
  if (pass != ConvolutionPass::forward) return steps;
  const cudnnDataType_t type = cudnn_type_of(spec.type);
  const auto add = [&](std::int64_t id, const TensorLayout& layout) {
    steps.push_back({.mode = CUDNN_POINTWISE_ADD, .operand = parts.keep(tensor(id, layout, type))});
  };
  if (spec.add) add(TensorIds::kAddend, layout_of(spec.output()));
  if (spec.bias) add(TensorIds::kBias, channels_last(1, spec.outputs, 1, 1));
  if (spec.relu) steps.push_back({.mode = CUDNN_POINTWISE_RELU_FWD});
  return steps;
}

/// The operations of a pass. What lies between two of them is in f32 and in no memory.
std::vector<Handle> operations_of(const Conv2dSpec& spec, ConvolutionPass pass, Parts& parts) {
  const std::vector<Step> steps = steps_of(spec, pass, parts);
  const bool to_weights = pass == ConvolutionPass::weights;
  const cudnnDataType_t type = cudnn_type_of(spec.type);
  const Handle x = parts.keep(tensor(TensorIds::kX, layout_of(spec.input), type));
  Handle weights = parts.keep(
      tensor(TensorIds::kWeights, weights_of(spec), to_weights ? CUDNN_DATA_FLOAT : type));
  Handle y = parts.keep(tensor(TensorIds::kY, layout_of(spec.output()), type));
  Handle& written = to_weights ? weights : y;  // by the last step, where there are some
  const Handle result = written;
  std::int64_t id = kBetween;
  const auto between = [&] {
    const TensorLayout layout = to_weights ? weights_of(spec) : layout_of(spec.output());
    return parts.keep(tensor(id++, layout, CUDNN_DATA_FLOAT, true));
  };
  if (!steps.empty()) written = between();
  const Handle window = parts.keep(window_of(spec.window));
  std::vector<Handle> operations{parts.keep(convolution_of(names_of(pass), window, x, weights, y))};
  Handle value = written;
  for (const Step& step : steps) {
    const Handle to = &step == &steps.back() ? result : between();
    const Handle mode = parts.keep(pointwise(step.mode));
    operations.push_back(parts.keep(pointwise_of(mode, value, step.operand, to)));
    value = to;
  }
  return operations;
}

}  // namespace

std::string_view name_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward: return "forward";
    case ConvolutionPass::data: return "data";
    case ConvolutionPass::weights: return "weights";
  }
  throw Defect("unknown pass of a convolution");
}

Conv2dSpec packed(const Conv2dSpec& spec) {
  Conv2dSpec packed = spec;
  constexpr Size kBytes = 16;
  if (spec.plain_input)
    packed.input.channels =
        round_up(spec.input.channels, kBytes / static_cast<Size>(bytes_of(spec.type)));
  return packed;
}

std::vector<Descriptor> graph_of(const CudnnTarget& target, const Conv2dSpec& spec,
                                 ConvolutionPass pass) {
  Parts parts;
  const std::vector<Handle> operations = operations_of(spec, pass, parts);
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target.handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target.handle);
  graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  graph.finalize();
  parts.keep(std::move(graph));
  return std::move(parts).take();
}

}  // namespace ptbench::cuda
