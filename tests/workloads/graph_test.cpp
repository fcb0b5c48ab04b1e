#include "workloads/graph.h"

#include <catch2/catch.hpp>

#include "src/base/error.h"
#include "workloads/catalog.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

Graph graph_of(const char* name) {
  const Workload workload = find_workload(name);
  return workload.build(workload.input_shape);
}

TEST_CASE("parameters and operations are those of the models", "[workloads]") {
  CHECK(graph_of("linear").parameter_count() == 10 * 2 + 2);
  CHECK(graph_of("mlp").parameter_count() ==
        784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10);
  // Forward and weight gradients of all layers, data gradients of all but the first.
  CHECK(graph_of("linear").flops_per_sample() == 2.0 * 2 * 10 * 2);
  CHECK(graph_of("mlp").flops_per_sample() ==
        2.0 * 2 * 784 * 1024 + 2.0 * 3 * (1024 * 1024 + 1024 * 10));
}

TEST_CASE("a width from the data goes through the whole model", "[workloads]") {
  const Graph graph = find_workload("mlp").build(Shape{1, 8, 8});
  CHECK(graph.input_shape == Shape{64});
  CHECK(graph.parameter_count() == 64 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10);
}

TEST_CASE("a ReLU becomes part of the linear layer before it", "[workloads]") {
  const std::vector<LoweredOperator> lowered = lower(graph_of("mlp"), 4, 8);
  REQUIRE(lowered.size() == 4);
  CHECK(std::get<LinearSpec>(lowered[0].spec) ==
        LinearSpec{
            .batch = 4, .inputs = 784, .outputs = 1024, .relu = true, .input_gradient = false});
  CHECK(
      std::get<LinearSpec>(lowered[2].spec) ==
      LinearSpec{.batch = 4, .inputs = 1024, .outputs = 10, .relu = false, .input_gradient = true});
  CHECK(std::get<SoftmaxCrossEntropySpec>(lowered[3].spec) ==
        SoftmaxCrossEntropySpec{.batch = 4, .classes = 10, .global_batch = 8});
}

TEST_CASE("a ReLU with no layer before it stays an operator", "[workloads]") {
  Graph graph;
  graph.input_shape = Shape{3};
  graph.classes = 3;
  graph.nodes = {{.name = "relu", .layer = ReluLayer{}, .inputs = {-1}}};
  const std::vector<LoweredOperator> lowered = lower(graph, 2, 2);
  CHECK(std::get<ReluSpec>(lowered[0].spec) == ReluSpec{.elements = 6, .input_gradient = false});
}

TEST_CASE("a graph that does not end in its classes is refused", "[workloads]") {
  Graph graph = graph_of("linear");
  graph.classes = 3;
  CHECK_THROWS_AS(graph.output_shapes(), Error);
  graph = graph_of("linear");
  graph.nodes[0].layer = LinearLayer{0};
  CHECK_THROWS_WITH(graph.output_shapes(), Catch::Contains("'fc'"));
}

TEST_CASE("unknown workloads are refused with a suggestion", "[workloads]") {
  CHECK_THROWS_WITH(find_workload("mpl"), Catch::Contains("did you mean 'mlp'?"));
}

TEST_CASE("memory of absurd batches is large, not negative", "[workloads]") {
  const Graph graph = graph_of("mlp");
  const OptimizerSpec adam = OptimizerSpec::defaults_of(OptimizerKind::adam);
  const MemoryPrediction usual = estimate_memory(graph, 128, adam);
  CHECK(usual.parameters == 1'863'690 * sizeof(float));
  CHECK(usual.optimizer == 2 * usual.parameters);
  CHECK(estimate_memory(graph, 1'000'000'000'000, adam).activations > Bytes{1} << 50U);
}

}  // namespace
}  // namespace ptbench
