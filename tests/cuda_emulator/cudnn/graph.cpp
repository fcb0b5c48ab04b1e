#include "tests/cuda_emulator/cudnn/graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/cuda_emulator/cudnn/refusal.h"

namespace ptbench::emulator {
namespace {

[[noreturn]] void no_pattern(const char* why) {
  throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, why);
}

/// Removes the operation that uses the virtual tensor `value`, with it as `x`.
Pointwise take_user(std::vector<Pointwise>& operations, const Tensor& value) {
  const auto uses = [&](const Pointwise& operation) {
    return operation.x.id == value.id || (operation.b && operation.b->id == value.id);
  };
  if (std::ranges::count_if(operations, uses) != 1)
    no_pattern("a virtual tensor is not used by just one operation");
  const auto found = std::ranges::find_if(operations, uses);
  Pointwise user = *found;
  operations.erase(found);
  if (user.x.id != value.id) {
    std::swap(user.x, *user.b);
    std::swap(user.x_factor, user.b_factor);
  }
  return user;
}

void check_step(const Pointwise& step) {
  if (step.b && (step.b->is_virtual || step.b->id == step.x.id))
    no_pattern("a pointwise operation takes two tensors that the graph computes");
  if (step.x.dimensions != step.y.dimensions)
    no_pattern("a pointwise operation widens what the graph computes");
  if (step.y.is_virtual && step.y.element != Element::f32)
    throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a virtual tensor is not fp32");
}

/// An id stands for one tensor.
void check_ids(const Graph& graph) {
  std::map<std::int64_t, Tensor> seen;
  const auto check = [&](const Tensor& tensor) {
    if (const auto [at, is_new] = seen.emplace(tensor.id, tensor); !is_new && at->second != tensor)
      bad_parameter("two tensors have the id " + std::to_string(tensor.id));
  };
  for (const Tensor* tensor :
       {&graph.convolution.image, &graph.convolution.filters, &graph.convolution.response})
    check(*tensor);
  for (const Pointwise& step : graph.steps) {
    check(step.x);
    if (step.b) check(*step.b);
    check(step.y);
  }
}

}  // namespace

bool Graph::is_plain() const {
  for (const Tensor& tensor : in_memory())
    if (tensor.element != result().element) return false;
  if (steps.empty()) return true;
  const std::vector<std::int64_t> bias{1, result().dimensions[1], 1, 1};
  if (convolution.direction != Direction::forward) return false;
  auto step = steps.begin();
  const auto adds = [&](const std::vector<std::int64_t>& dimensions) {
    return step != steps.end() && step->b && step->b->dimensions == dimensions;
  };
  if (adds(result().dimensions)) ++step;  // an image first
  if (!adds(bias)) return false;
  ++step;
  if (step != steps.end() && step->mode == CUDNN_POINTWISE_RELU_FWD) ++step;
  return step == steps.end();
}

std::vector<Tensor> Graph::in_memory() const {
  std::vector<Tensor> tensors{convolution.image, convolution.filters, convolution.response};
  for (const Pointwise& step : steps) {
    if (step.b) tensors.push_back(*step.b);
    tensors.push_back(step.y);
  }
  std::erase_if(tensors, [](const Tensor& tensor) { return tensor.is_virtual; });
  return tensors;
}

Graph graph_of(const Descriptor& descriptor) {
  std::vector<Pointwise> pointwise;
  std::vector<Convolution> convolutions;
  for (const DescriptorPtr& operation : descriptor.descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    switch (operation->type()) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        convolutions.push_back(convolution_of(*operation));
        break;
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        pointwise.push_back(pointwise_of(*operation));
        break;
      default: bad_parameter("a graph is given a descriptor that is no operation");
    }
  }
  if (convolutions.size() != 1) no_pattern("graphs are emulated with one convolution only");
  Graph graph{std::move(convolutions.front()), {}};
  while (graph.result().is_virtual) {
    Pointwise step = take_user(pointwise, graph.result());
    check_step(step);
    graph.steps.push_back(std::move(step));
  }
  if (!pointwise.empty()) no_pattern("a graph goes on behind a tensor that is not virtual");
  check_ids(graph);
  return graph;
}

}  // namespace ptbench::emulator
