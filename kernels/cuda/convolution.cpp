#include "kernels/cuda/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/cuda/workspace.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

/// Names of tensors in a graph.
constexpr std::int64_t kX = 1;
constexpr std::int64_t kWeights = 2;
constexpr std::int64_t kY = 3;
constexpr std::int64_t kBias = 4;
constexpr std::int64_t kAddend = 5;
constexpr std::int64_t kBetween = 6;  // and on: what one operation gives the next

/// What engines load at once. Arenas place tensors at multiples of 16 floats, and their copies in
/// narrow types half as far from each other.
constexpr std::int64_t kTensorAlignment = 16;
constexpr Bytes kMostPlanWorkspace = Bytes{256} << 20U;
/// More than cuDNN names.
constexpr std::size_t kMostConfigurations = 64;

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
  if (spec.add) add(kAddend, layout_of(spec.output()));
  if (spec.bias) add(kBias, channels_last(1, spec.outputs, 1, 1));
  if (spec.relu) steps.push_back({.mode = CUDNN_POINTWISE_RELU_FWD});
  return steps;
}

/// The operations of a pass. What lies between two of them is in f32 and in no memory.
std::vector<Handle> operations_of(const Conv2dSpec& spec, ConvolutionPass pass, Parts& parts) {
  const std::vector<Step> steps = steps_of(spec, pass, parts);
  const bool to_weights = pass == ConvolutionPass::weights;
  const cudnnDataType_t type = cudnn_type_of(spec.type);
  const Handle x = parts.keep(tensor(kX, layout_of(spec.input), type));
  Handle weights =
      parts.keep(tensor(kWeights, weights_of(spec), to_weights ? CUDNN_DATA_FLOAT : type));
  Handle y = parts.keep(tensor(kY, layout_of(spec.output()), type));
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

/// All descriptors of a pass; the last one is the graph of its operations.
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

/// Engines with settings, the fastest first as far as cuDNN knows.
std::vector<Descriptor> configurations_of(const CudnnTarget& target, const Descriptor& graph,
                                          cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (target.properties != nullptr)
    heuristic.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
  if (heuristic.try_finalize() != CUDNN_STATUS_SUCCESS) return {};  // the graph is not supported
  return heuristic.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostConfigurations);
}

/// Whether results repeat, and are sums of products of the operands as they are, or in tf32 as
/// tensor cores take them.
bool is_exact(const Descriptor& engine, ElementType type) {
  const auto notes = engine.get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                             CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  return std::ranges::none_of(notes, [&](cudnnBackendNumericalNote_t note) {
    if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return type == ElementType::f32;  // as tf32
    return note != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
  });
}

/// "engine 34 knob 2=1 …".
std::string description_of(const Descriptor& engine, const Descriptor& configuration) {
  std::string text =
      fmt::format("engine {}", engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1).at(0));
  for (const Descriptor& choice : configuration.get_descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
           CUDNN_KNOB_TYPE_COUNTS)) {
    const auto knob = choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1).at(0);
    const auto value = choice.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 1).at(0);
    text += fmt::format(" knob {}={}", static_cast<int>(knob), value);
  }
  return text;
}

/// Null where cuDNN finds only now that the configuration does not fit.
std::shared_ptr<const ConvolutionPlan> plan_of(
    const CudnnTarget& target, const std::shared_ptr<const std::vector<Descriptor>>& graph,
    Descriptor configuration, const Descriptor& engine) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
  if (target.properties != nullptr)
    plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (plan.try_finalize() != CUDNN_STATUS_SUCCESS) return nullptr;
  std::string description = description_of(engine, configuration);
  return std::make_shared<const ConvolutionPlan>(
      ConvolutionPlan::Parts{graph, std::move(configuration), std::move(plan)},
      std::move(description));
}

}  // namespace

Conv2dSpec packed(const Conv2dSpec& spec) {
  Conv2dSpec packed = spec;
  constexpr Size kBytes = 16;
  if (spec.plain_input)
    packed.input.channels =
        round_up(spec.input.channels, kBytes / static_cast<Size>(bytes_of(spec.type)));
  return packed;
}

ConvolutionPlan::ConvolutionPlan(Parts parts, std::string description)
    : parts_(std::move(parts)),
      workspace_(static_cast<Bytes>(
          parts_.plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0))),
      description_(std::move(description)) {}

std::vector<std::shared_ptr<const ConvolutionPlan>> plan_convolution(const CudnnTarget& target,
                                                                     const Conv2dSpec& spec,
                                                                     ConvolutionPass pass,
                                                                     std::size_t most) {
  const auto graph = std::make_shared<const std::vector<Descriptor>>(graph_of(target, spec, pass));
  std::vector<std::shared_ptr<const ConvolutionPlan>> plans;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& configuration : configurations_of(target, graph->back(), mode)) {
      if (plans.size() == most) return plans;
      const auto engines = configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE,
                                                         CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
      if (!is_exact(engines.at(0), spec.type)) continue;
      auto plan = plan_of(target, graph, std::move(configuration), engines.at(0));
      if (!plan || plan->workspace() > kMostPlanWorkspace) continue;
      const bool known = std::ranges::any_of(
          plans, [&](const auto& one) { return one->description() == plan->description(); });
      if (!known) plans.push_back(std::move(plan));
    }
  }
  return plans;
}

Convolution::Convolution(Cudnn& cudnn, std::shared_ptr<const ConvolutionPlan> plan,
                         const ConvolutionOperands& operands)
    : cudnn_(&cudnn), plan_(std::move(plan)), memory_(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
  // cuDNN's interface knows no constant memory.
  const auto pointer = [](const void* memory) { return const_cast<void*>(memory); };  // NOLINT
  std::vector<std::int64_t> ids{kX, kWeights, kY};
  std::vector<void*> pointers{pointer(operands.x), pointer(operands.weights), pointer(operands.y)};
  const auto take = [&](std::int64_t id, const void* memory) {
    if (memory == nullptr) return;
    ids.push_back(id);
    pointers.push_back(pointer(memory));
  };
  take(kBias, operands.bias);
  take(kAddend, operands.addend);
  require_workspace(operands.workspace, plan_->workspace());
  memory_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids));
  memory_.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers));
  void* workspace = operands.workspace.data();
  memory_.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  memory_.finalize();
}

void Convolution::run() const {
  PTBENCH_CUDNN(cudnnBackendExecute(cudnn_->handle(), plan_->get(), memory_.get()));
}

}  // namespace ptbench::cuda
