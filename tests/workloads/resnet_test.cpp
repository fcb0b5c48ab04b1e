#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "src/base/error.h"
#include "workloads/workload_catalog.h"

namespace ptbench {
namespace {

using Names = std::vector<std::string>;

Graph resnet_of(const char* name) {
  const Workload workload = find_workload(name);
  return workload.build(workload.input_shape);
}

const Node& node_of(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  REQUIRE(found != graph.nodes.end());
  return *found;
}

Names inputs_of(const Graph& graph, const std::string& name) {
  Names names;
  for (const Size source : node_of(graph, name).inputs)
    names.push_back(source < 0 ? "input" : graph.nodes[static_cast<std::size_t>(source)].name);
  return names;
}

const Conv2dLayer& conv_of(const Graph& graph, const std::string& name) {
  return std::get<Conv2dLayer>(node_of(graph, name).layer);
}

/// Layers with tensors, in the graph's order.
Names trained_layers(const Graph& graph) {
  Names names;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Conv2dLayer>(node.layer) ||
        std::holds_alternative<BatchNormLayer>(node.layer) ||
        std::holds_alternative<LinearLayer>(node.layer))
      names.push_back(node.name);
  return names;
}

/// Those of torchvision's state_dict, in its order.
Names torchvision_layers(const std::vector<int>& blocks, int convolutions,
                         const std::set<std::string>& with_downsample) {
  Names names{"conv1", "bn1"};
  for (std::size_t stage = 1; stage <= blocks.size(); ++stage)
    for (int block = 0; block < blocks[stage - 1]; ++block) {
      const std::string name = "layer" + std::to_string(stage) + "." + std::to_string(block);
      for (int i = 1; i <= convolutions; ++i) {
        names.push_back(name + ".conv" + std::to_string(i));
        names.push_back(name + ".bn" + std::to_string(i));
      }
      if (with_downsample.contains(name)) {
        names.push_back(name + ".downsample.0");
        names.push_back(name + ".downsample.1");
      }
    }
  names.emplace_back("fc");
  return names;
}

void check_names_are_unique(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes) CHECK(names.insert(node.name).second);
}

TEST_CASE("resnet18 has the layers of the paper", "[workloads]") {
  const Graph graph = resnet_of("resnet18");
  CHECK(graph.parameter_count() == 11'173'962);
  CHECK(trained_layers(graph) ==
        torchvision_layers({2, 2, 2, 2}, 2, {"layer2.0", "layer3.0", "layer4.0"}));
  check_names_are_unique(graph);
  CHECK(inputs_of(graph, "conv1") == Names{"input"});
  CHECK(inputs_of(graph, "layer1.0.add") == Names{"layer1.0.bn2", "relu"});
  CHECK(inputs_of(graph, "layer2.0.add") == Names{"layer2.0.bn2", "layer2.0.downsample.1"});
  CHECK(inputs_of(graph, "layer2.0.downsample.0") == Names{"layer1.1.relu2"});
  CHECK(inputs_of(graph, "layer2.0.relu2") == Names{"layer2.0.add"});

  // Multiply-adds: 3×3 convolutions with equal inputs and outputs take the same in each stage.
  const double equal = 9.0 * 64 * 64 * 32 * 32;
  const double first = 9.0 * 3 * 64 * 32 * 32;
  const double shrinking = equal / 2 + equal / 18;  // the 3×3 with half the inputs, and the 1×1
  const double forward = first + 4 * equal + 3 * (shrinking + 3 * equal) + 512 * 10;
  CHECK(graph.flops_per_sample() == 2 * (3 * forward - first));
}

TEST_CASE("resnet50 has the layers of torchvision's", "[workloads]") {
  const Graph graph = resnet_of("resnet50");
  CHECK(graph.parameter_count() == 25'557'032);
  CHECK(trained_layers(graph) ==
        torchvision_layers({3, 4, 6, 3}, 3, {"layer1.0", "layer2.0", "layer3.0", "layer4.0"}));
  check_names_are_unique(graph);
  CHECK(inputs_of(graph, "layer1.0.conv1") == Names{"maxpool"});
  CHECK(inputs_of(graph, "layer1.0.add") == Names{"layer1.0.bn3", "layer1.0.downsample.1"});
  CHECK(inputs_of(graph, "layer1.1.add") == Names{"layer1.1.bn3", "layer1.0.relu3"});
  CHECK(graph.output_shapes()[3] == Shape{64, 56, 56});

  // The stride lies in the 3×3 convolution: version 1.5.
  CHECK(conv_of(graph, "layer2.0.conv1").window.stride_height == 1);
  CHECK(conv_of(graph, "layer2.0.conv2").window.stride_height == 2);
  CHECK(conv_of(graph, "layer2.0.downsample.0").window.stride_width == 2);
}

TEST_CASE("a forward pass of resnet50 takes 4.089 billion multiply-adds", "[workloads]") {
  const double first = 49.0 * 3 * 64 * 112 * 112;
  double forward = first + 2048 * 1000;
  double pixels = 56 * 56;
  double inputs = 64;
  const std::vector<int> blocks{3, 4, 6, 3};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const double width = 64.0 * static_cast<double>(1U << stage);
    for (int block = 0; block < blocks[stage]; ++block) {
      forward += pixels * inputs * width;  // before the stride
      if (stage > 0 && block == 0) pixels /= 4;
      forward += pixels * (9 * width * width + width * 4 * width);
      if (block == 0) forward += pixels * inputs * 4 * width;
      inputs = 4 * width;
    }
  }
  CHECK(forward == 4'089'184'256.0);
  CHECK(resnet_of("resnet50").flops_per_sample() == 2 * (3 * forward - first));
}

TEST_CASE("ResNets' convolutions are drawn as torchvision draws them", "[workloads]") {
  for (const char* name : {"resnet18", "resnet50"})
    for (const Node& node : resnet_of(name).nodes)
      if (const auto* conv = std::get_if<Conv2dLayer>(&node.layer)) {
        CHECK(conv->init == ConvInit::kaiming_normal);
        CHECK_FALSE(conv->bias);
      }
}

TEST_CASE("ResNets take images of their own size only", "[workloads]") {
  CHECK_THROWS_WITH(
      find_workload("resnet18").build(Shape{1, 8, 8}),
      Catch::Contains("'resnet18' takes samples of 3x32x32, and the data's are 1x8x8"));
  for (const char* name : {"resnet18", "resnet50"}) {
    const Workload workload = find_workload(name);
    CHECK_FALSE(workload.takes_any_width);
    CHECK(workload.synthetic_samples >= 4 * workload.batch);
    CHECK(workload.optimizer.kind == OptimizerKind::sgd);
    CHECK(workload.optimizer.lr == 0.01);
    CHECK(workload.optimizer.momentum == 0.9);
    CHECK(workload.optimizer.weight_decay == 5e-4);
  }
}

}  // namespace
}  // namespace ptbench
