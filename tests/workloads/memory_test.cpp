#include "workloads/memory.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels/cpu/cpu_backend.h"
#include "workloads/catalog.h"
#include "workloads/program.h"

namespace ptbench {
namespace {

MemoryPrediction estimate(const char* name, Size batch, ElementType type = ElementType::f32) {
  const Workload workload = find_workload(name);
  return estimate_memory(workload.build(workload.input_shape), batch, type, workload.optimizer);
}

TEST_CASE("memory of absurd batches is large, not negative", "[workloads]") {
  for (const char* name : {"linear", "mlp", "resnet18"}) {
    const Bytes some = estimate(name, 1).total();
    const Bytes many = estimate(name, Size{1} << 62U).total();
    CAPTURE(name);
    CHECK(many > some);
    CHECK(many >= Bytes{1} << 59U);
  }
}

TEST_CASE("parameters, their gradients and momentum take what they say", "[workloads]") {
  const MemoryPrediction memory = estimate("resnet18", 1);
  CHECK(memory.parameters == Bytes{4} * 11'173'962);
  CHECK(memory.gradients == memory.parameters);
  CHECK(memory.optimizer == memory.parameters);
}

TEST_CASE("adding gradients takes room for one operator, not for a second arena", "[workloads]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  const Graph graph = find_workload("mlp").build({784});
  const Lowering lowering{.batch = 16, .global_batch = 64};
  Choices choices;
  for (const LoweredOperator& lowered : lower(graph, lowering).operators)
    choices[key_of(lowered.spec)] = backend.candidates(lowered.spec).front();
  const ProgramPlan plan(graph, lowering, backend, choices);
  const HostMemorySource source;
  const MemoryPrediction replacing = plan.memory({}, false, source);
  const MemoryPrediction adding = plan.memory({}, true, source);
  Bytes largest = 0;
  for (const ProgramPlan::Step& step : plan.steps())
    largest = std::max(largest, static_cast<Bytes>(step.arena.size()) * sizeof(float));
  CHECK(adding.gradients == replacing.gradients);
  CHECK(adding.total() - replacing.total() <= source.footprint(largest));
  CHECK(largest < replacing.gradients);
}

TEST_CASE("activations grow with the batch and shrink with their type", "[workloads]") {
  const Bytes one = estimate("resnet18", 1).activations;
  CHECK(estimate("resnet18", 64).activations == 64 * one);
  const auto narrow = static_cast<double>(estimate("resnet18", 1, ElementType::bf16).activations);
  // But for the data, which stay f32 until they are cast.
  CHECK(narrow == Approx(static_cast<double>(one) / 2).epsilon(0.02));
}

TEST_CASE("a batch of rows takes its rows and no rounding", "[workloads]") {
  // Data, logits and their gradient: 10 + 2 + 2 floats.
  CHECK(estimate("linear", 1000).activations == Bytes{1000} * 14 * sizeof(float));
}

}  // namespace
}  // namespace ptbench
