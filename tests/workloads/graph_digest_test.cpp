#include <catch2/catch.hpp>
#include <set>

#include "workloads/graph.h"
#include "workloads/workload_catalog.h"

namespace ptbench {
namespace {

Graph built_graph(const Workload& workload) { return workload.build(workload.input_shape); }

/// Two linear layers with a ReLU between.
Graph small_graph() {
  return {.input_shape = {8},
          .classes = 3,
          .nodes = {{.name = "fc1", .layer = LinearLayer{5}, .inputs = {-1}},
                    {.name = "relu", .layer = ReluLayer{}, .inputs = {0}},
                    {.name = "fc2", .layer = LinearLayer{3}, .inputs = {1}}}};
}

}  // namespace

TEST_CASE("a digest is the same on every host", "[workloads]") {
  CHECK(graph_digest(small_graph()) == "49ca7076155d04ad");
}

TEST_CASE("a model file of a workload of the catalog has its digest", "[workloads]") {
  const Workload file = find_workload(PTBENCH_SOURCE_DIR "/models/resnet18.json");
  CHECK(graph_digest(built_graph(file)) == graph_digest(built_graph(find_workload("resnet18"))));
}

TEST_CASE("names of layers are no part of a digest, everything else is", "[workloads]") {
  Graph renamed = small_graph();
  renamed.nodes[0].name = "first";
  CHECK(graph_digest(renamed) == graph_digest(small_graph()));

  std::set<std::string> digests{graph_digest(small_graph())};
  const auto is_new = [&](const Graph& graph) {
    return digests.insert(graph_digest(graph)).second;
  };
  Graph other = small_graph();
  other.input_shape = {9};
  CHECK(is_new(other));
  other = small_graph();
  other.nodes[0].layer = LinearLayer{6};
  CHECK(is_new(other));
  other = small_graph();
  other.nodes[1].layer = GeluLayer{};
  CHECK(is_new(other));
  other = small_graph();
  other.nodes[2].inputs = {0};
  CHECK(is_new(other));
  other.classes = 4;
  CHECK(is_new(other));
  Conv2dLayer conv{.outputs = 4, .window = {.kernel_height = 3, .kernel_width = 3}};
  other.nodes[0].layer = conv;
  CHECK(is_new(other));
  conv.init = ConvInit::kaiming_normal;
  other.nodes[0].layer = conv;
  CHECK(is_new(other));
  conv.bias = false;
  other.nodes[0].layer = conv;
  CHECK(is_new(other));
  for (const Workload& workload : workload_catalog()) {
    INFO(workload.name);
    CHECK(is_new(built_graph(workload)));
  }
}

}  // namespace ptbench
