#include "workloads/lower.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "workloads/memory.h"

namespace ptbench {
namespace {

std::vector<std::string> keys_of(const LoweredGraph& graph) {
  std::vector<std::string> keys;
  for (const LoweredOperator& lowered : graph.operators) keys.push_back(key_of(lowered.spec));
  return keys;
}

Conv2dLayer conv3x3(Size outputs) {
  return {.outputs = outputs, .window = Window::square(3, 1, 1), .bias = false};
}

/// relu(bn2(conv2(stem)) + stem), pooled.
Graph residual() {
  return {.input_shape = {3, 8, 8},
          .classes = 4,
          .nodes = {{.name = "conv1", .layer = conv3x3(16), .inputs = {-1}},
                    {.name = "bn1", .layer = BatchNormLayer{}, .inputs = {0}},
                    {.name = "relu1", .layer = ReluLayer{}, .inputs = {1}},
                    {.name = "conv2", .layer = conv3x3(16), .inputs = {2}},
                    {.name = "bn2", .layer = BatchNormLayer{}, .inputs = {3}},
                    {.name = "add", .layer = AddLayer{}, .inputs = {4, 2}},
                    {.name = "relu2", .layer = ReluLayer{}, .inputs = {5}},
                    {.name = "pool", .layer = GlobalPoolLayer{}, .inputs = {6}},
                    {.name = "flatten", .layer = FlattenLayer{}, .inputs = {7}},
                    {.name = "fc", .layer = LinearLayer{4}, .inputs = {8}}}};
}

TEST_CASE("a residual block becomes four operators", "[workloads]") {
  const LoweredGraph graph = lower(residual(), {.batch = 2, .global_batch = 2});
  CHECK(keys_of(graph) == std::vector<std::string>{
                              "conv2d b2 3x8x8->16 k3x3 s1x1 p1x1 plain first",
                              "batch_norm b2 16x8x8 relu of 2",
                              "conv2d b2 16x8x8->16 k3x3 s1x1 p1x1",
                              "batch_norm b2 16x8x8 add relu",
                              "average_pool b2 16x8x8 k8x8 s8x8 p0x0",
                              "reorder 2x16x1x1 native f32 -> 2x16 f32",
                              "linear b2 16->4",
                              "softmax_cross_entropy b2 4",
                          });
}

TEST_CASE("what follows a convolution with a bias is part of it", "[workloads]") {
  Graph graph = residual();
  graph.nodes.erase(graph.nodes.begin() + 4);  // bn2
  for (Node& node : graph.nodes)
    for (Size& input : node.inputs) input -= input > 3 ? 1 : 0;
  graph.nodes[4].inputs = {2, 3};
  const auto keys = [&](bool first, bool second) {
    std::get<Conv2dLayer>(graph.nodes[0].layer).bias = first;
    std::get<Conv2dLayer>(graph.nodes[3].layer).bias = second;
    return keys_of(lower(graph, {.batch = 2, .global_batch = 2}));
  };
  CHECK(keys(false, true)[2] == "conv2d b2 16x8x8->16 k3x3 s1x1 p1x1 bias add relu");
  CHECK(keys(false, false)[3] == "add 2x16x8x8 native");
  CHECK(keys(false, false)[4] == "relu 2x16x8x8 native");
  graph.nodes[1].layer = ReluLayer{};
  CHECK(keys(true, true)[0] == "conv2d b2 3x8x8->16 k3x3 s1x1 p1x1 bias relu plain first");
  // Of the data nobody has a gradient, and an addend's would ask for it.
  graph.nodes[1].layer = AddLayer{};
  graph.nodes[1].inputs = {0, -1};
  for (const std::size_t node : {0UL, 3UL}) graph.nodes[node].layer = conv3x3(3);
  CHECK(keys(true, true)[0] == "conv2d b2 3x8x8->3 k3x3 s1x1 p1x1 bias plain first");
}

TEST_CASE("tf32 is of products alone, and all tensors are f32", "[workloads]") {
  const LoweredGraph graph =
      lower(residual(), {.batch = 2, .global_batch = 2, .type = ElementType::tf32});
  for (const LoweredTensor& tensor : graph.tensors) CHECK(tensor.spec.type == ElementType::f32);
  for (const LoweredOperator& lowered : graph.operators) {
    const bool multiplies = flops_of(lowered.spec).forward > 0;
    CHECK(products_of(lowered.spec) == (multiplies ? ElementType::tf32 : ElementType::f32));
    CHECK((key_of(lowered.spec).find("tf32") != std::string::npos) == multiplies);
  }
}

TEST_CASE("bf16 casts the data once and nothing else", "[workloads]") {
  const LoweredGraph graph =
      lower(residual(), {.batch = 2, .global_batch = 2, .type = ElementType::bf16});
  const std::vector<std::string> keys = keys_of(graph);
  CHECK(keys.front() == "reorder 2x3x8x8 f32 -> 2x3x8x8 bf16 first");
  for (std::size_t i = 1; i < keys.size(); ++i) {
    CAPTURE(keys[i]);
    CHECK(keys[i].find("bf16") != std::string::npos);
  }
  for (std::size_t i = 1; i < graph.tensors.size(); ++i)
    CHECK(graph.tensors[i].spec.type == ElementType::bf16);
}

TEST_CASE("nothing rounds data that are narrow already", "[workloads]") {
  Lowering lowering{.batch = 2, .global_batch = 2, .type = ElementType::bf16};
  std::vector<std::string> wide = keys_of(lower(residual(), lowering));
  lowering.narrow_data = true;
  const LoweredGraph graph = lower(residual(), lowering);
  wide.erase(wide.begin());  // the reorder that rounds
  CHECK(keys_of(graph) == wide);
  CHECK(graph.tensors[kDataTensor].spec.type == ElementType::bf16);
  for (const ElementType type : {ElementType::f32, ElementType::tf32}) {
    lowering.type = type;
    CHECK(lower(residual(), lowering).tensors[kDataTensor].spec.type == ElementType::f32);
  }
}

TEST_CASE("what others use too is not fused away", "[workloads]") {
  Graph graph = residual();
  graph.nodes[5].inputs = {1, 4};  // the addition needs bn1 before its ReLU
  const std::vector<std::string> keys = keys_of(lower(graph, {.batch = 1, .global_batch = 1}));
  CHECK(std::ranges::count(keys, "batch_norm b1 16x8x8 of 2") == 1);
  CHECK(std::ranges::count(keys, "relu 1x16x8x8 native") == 1);
  CHECK(std::ranges::count(keys, "batch_norm b1 16x8x8 add relu") == 1);
}

TEST_CASE("gradients of several users meet in a fork, or in the batch norm of two", "[workloads]") {
  Graph graph = residual();
  // A third user of the first ReLU, and a linear layer with two users.
  graph.nodes.insert(graph.nodes.begin() + 7,
                     {.name = "add2", .layer = AddLayer{}, .inputs = {6, 2}});
  graph.nodes[8].inputs = {7};
  graph.nodes[9].inputs = {8};
  graph.nodes[10].inputs = {9};
  const LoweredGraph lowered = lower(graph, {.batch = 1, .global_batch = 1});
  const std::vector<std::string> keys = keys_of(lowered);
  CHECK(std::ranges::count(keys, "fork 1x16x8x8 native of 3") == 1);
  CHECK(std::ranges::count(keys, "batch_norm b1 16x8x8 relu") == 1);
  const auto uses = uses_of(lowered);
  for (std::size_t i = 0; i < lowered.tensors.size(); ++i) {
    CAPTURE(i);
    const LoweredTensor& tensor = lowered.tensors[i];
    if (tensor.producer == kNoTensor || !tensor.needs_gradient) continue;
    const OperatorSpec& producer =
        lowered.operators[static_cast<std::size_t>(tensor.producer)].spec;
    CHECK(tensors_of(producer).gradient_terms == static_cast<Size>(uses[i].size()));
  }
}

TEST_CASE("the data may enter anywhere", "[workloads]") {
  const auto keys_with = [](Layer first) {
    return keys_of(lower({.input_shape = {3, 4, 4},
                          .classes = 2,
                          .nodes = {{.name = "first", .layer = first, .inputs = {-1}},
                                    {.name = "flatten", .layer = FlattenLayer{}, .inputs = {0}},
                                    {.name = "fc", .layer = LinearLayer{2}, .inputs = {1}}}},
                         {.batch = 1, .global_batch = 1}));
  };
  CHECK(keys_with(PoolLayer{.kind = PoolKind::max}).front() ==
        "reorder 1x3x4x4 f32 -> 1x3x4x4 native f32 first");
  CHECK(keys_with(ReluLayer{}).front() == "relu 1x3x4x4 first");
  CHECK(keys_with(BatchNormLayer{})[1] == "batch_norm b1 3x4x4 first");
  // Flattening rows of data is another view of the same memory.
  CHECK(keys_with(ReluLayer{})[1] == "linear b1 48->2 first");
}

TEST_CASE("rows go through a batch norm as images of one pixel", "[workloads]") {
  const LoweredGraph graph =
      lower({.input_shape = {5},
             .classes = 2,
             .nodes = {{.name = "fc1", .layer = LinearLayer{20}, .inputs = {-1}},
                       {.name = "bn", .layer = BatchNormLayer{}, .inputs = {0}},
                       {.name = "relu", .layer = ReluLayer{}, .inputs = {1}},
                       {.name = "fc2", .layer = LinearLayer{2}, .inputs = {2}}}},
            {.batch = 3, .global_batch = 3});
  CHECK(keys_of(graph) ==
        std::vector<std::string>{"linear b3 5->20 first", "reorder 3x20 f32 -> 3x20x1x1 native f32",
                                 "batch_norm b3 20x1x1 relu",
                                 "reorder 3x20x1x1 native f32 -> 3x20 f32", "linear b3 20->2",
                                 "softmax_cross_entropy b3 2"});
}

TEST_CASE("gradients lie where backward no longer needs activations", "[workloads]") {
  const LoweredGraph graph = lower(residual(), {.batch = 2, .global_batch = 2});
  const auto bytes = [](const TensorSpec& tensor) {
    return static_cast<Bytes>(tensor.shape.elements()) * bytes_of(tensor.type);
  };
  const ActivationMemory memory = place_activations(graph, bytes);
  Bytes activations = 0;
  Bytes gradients = 0;
  for (const LoweredTensor& tensor : graph.tensors) activations += bytes(tensor.spec);
  for (std::size_t op = 0; op < graph.operators.size(); ++op)
    for (std::size_t input = 0; input < graph.operators[op].inputs.size(); ++input)
      if (memory.needed[op][input])
        gradients +=
            bytes(graph.tensors[static_cast<std::size_t>(graph.operators[op].inputs[input])].spec);
  CHECK(memory.total >= activations);
  CHECK(memory.total < activations + gradients);
}

}  // namespace
}  // namespace ptbench
