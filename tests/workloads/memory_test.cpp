#include "workloads/memory.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/first_plan.h"
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
  const Workload workload = find_workload("resnet18");
  const MemoryPrediction passing =
      estimate_memory(workload.build(workload.input_shape), 1, ElementType::f32, workload.optimizer,
                      GradientUse::passing);
  // The largest convolution's, and those of the first one and of the last layer.
  CHECK(passing.gradients == Bytes{4} * (512 * 512 * 9 + 3 * 64 * 9 + 512 * 10 + 10));
}

TEST_CASE("adding gradients takes room for one operator, not for a second arena", "[workloads]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  const Graph graph = find_workload("mlp").build({784});
  const Lowering lowering{.batch = 16, .global_batch = 64};
  const ProgramPlan plan(graph, lowering, backend,
                         testing::first_choices(lower(graph, lowering), backend));
  const HostMemorySource source;
  const MemoryPrediction replacing = plan.memory({}, GradientUse::kept, source);
  const MemoryPrediction adding = plan.memory({}, GradientUse::accumulated, source);
  Bytes largest = 0;
  for (const ProgramPlan::Step& step : plan.steps())
    largest = std::max(largest, static_cast<Bytes>(step.arena.size()) * sizeof(float));
  CHECK(adding.gradients == replacing.gradients);
  CHECK(adding.total() - replacing.total() <= source.footprint(largest));
  CHECK(largest < replacing.gradients);
}

TEST_CASE("gradients that pass take room for the largest operator's", "[workloads]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  for (const char* workload : {"mlp", "resnet18", "resnet50"}) {
    CAPTURE(workload);
    const Workload found = find_workload(workload);
    const Graph graph = found.build(found.input_shape);
    const Lowering lowering{.batch = 2, .global_batch = 2};
    const ProgramPlan plan(graph, lowering, backend,
                           testing::first_choices(lower(graph, lowering), backend));
    Size largest = 0;
    Size padded = 0;
    for (std::size_t i = 0; i < plan.steps().size(); ++i) {
      const ProgramPlan::Step& step = plan.steps()[i];
      const Size elements = elements_of(parameters_of(plan.graph().operators[i].spec));
      CHECK(step.passing.size() == step.arena.size());
      if (elements != step.arena.size()) padded += step.arena.size();
      largest = std::max(largest, step.arena.size());
    }
    CHECK(plan.passing_elements() >= largest);
    CHECK(plan.passing_elements() <= largest + padded);
    CHECK(plan.passing_elements() < plan.arena_elements() * 2 / 3);
    const HostMemorySource source;
    const MemoryPrediction kept = plan.memory({}, GradientUse::kept, source);
    const MemoryPrediction passing = plan.memory({}, GradientUse::passing, source);
    CHECK(passing.gradients == source.footprint(float_bytes(plan.passing_elements())));
    CHECK(kept.total() - passing.total() == kept.gradients - passing.gradients);
    const MemoryPrediction estimated =
        estimate_memory(graph, 2, ElementType::f32, {}, GradientUse::passing);
    CHECK(static_cast<double>(estimated.gradients) ==
          Approx(static_cast<double>(float_bytes(plan.passing_elements()))).epsilon(0.02));
  }
}

TEST_CASE("activations grow with the batch and shrink with their type", "[workloads]") {
  const Bytes one = estimate("resnet18", 1).activations;
  CHECK(estimate("resnet18", 64).activations == 64 * one);
  const auto narrow = static_cast<double>(estimate("resnet18", 1, ElementType::bf16).activations);
  // But for the data, which stay f32 until they are cast.
  CHECK(narrow == Approx(static_cast<double>(one) / 2).epsilon(0.02));
}

TEST_CASE("a shortcut's batch norm keeps nothing for the backward pass", "[workloads]") {
  const BatchNormSpec shortcut{.input = {.batch = 1, .channels = 16, .height = 8, .width = 8}};
  CHECK_FALSE(backward_reads_output(shortcut));
  BatchNormSpec sum = shortcut;
  sum.add = sum.relu = true;
  CHECK(backward_reads_output(sum));
  CHECK(backward_reads_input(sum, 0));
  CHECK_FALSE(backward_reads_input(sum, 1));

  // Of the activations that some backward pass reads, nearly all are alive at once, and hardly
  // anything beside them.
  const Workload workload = find_workload("resnet50");
  const Graph graph = workload.build(workload.input_shape);
  const LoweredGraph lowered = lower(graph, {.batch = 1, .global_batch = 1});
  std::vector<bool> is_read(lowered.tensors.size(), false);
  for (const LoweredOperator& one : lowered.operators) {
    for (std::size_t input = 0; input < one.inputs.size(); ++input)
      if (backward_reads_input(one.spec, input))
        is_read[static_cast<std::size_t>(one.inputs[input])] = true;
    if (one.output != kNoTensor && backward_reads_output(one.spec))
      is_read[static_cast<std::size_t>(one.output)] = true;
  }
  const auto bytes = [](const TensorSpec& tensor) {
    return static_cast<Bytes>(tensor.shape.elements()) * bytes_of(tensor.type);
  };
  Bytes kept = 0;
  Bytes all = 0;
  for (std::size_t tensor = 0; tensor < lowered.tensors.size(); ++tensor) {
    const LoweredTensor& one = lowered.tensors[tensor];
    if (one.same_memory_as != kNoTensor) continue;
    all += bytes(one.spec);
    if (is_read[tensor]) kept += bytes(one.spec);
  }
  const Bytes total = place_activations(lowered, bytes).total;
  CAPTURE(total, kept, all);
  CHECK(total < all);
  CHECK(static_cast<double>(total) < 1.05 * static_cast<double>(kept));
}

TEST_CASE("a batch of rows takes its rows and no rounding", "[workloads]") {
  // Data, logits and their gradient: 10 + 2 + 2 floats.
  CHECK(estimate("linear", 1000).activations == Bytes{1000} * 14 * sizeof(float));
}

}  // namespace
}  // namespace ptbench
