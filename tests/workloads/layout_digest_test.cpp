#include "workloads/layout_digest.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "tests/support/first_plan.h"

namespace ptbench {
namespace {

/// Of a program of one linear layer; `candidate` is that layer's.
std::uint64_t digest_of_program(const KernelBackend& backend, Size batch,
                                const std::string& candidate) {
  const Graph graph{.input_shape = {20},
                    .classes = 33,
                    .nodes = {{.name = "fc", .layer = LinearLayer{33}, .inputs = {-1}}}};
  const Lowering lowering{.batch = batch, .global_batch = 12};
  const LoweredGraph lowered = lower(graph, lowering);
  Choices choices = testing::first_choices(lowered, backend);
  choices[key_of(lowered.operators.front().spec)] = candidate;
  return layout_digest(ProgramPlan(graph, lowering, backend, choices));
}

TEST_CASE("a layout's digest tells where parameters lie", "[workloads]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  const OperatorSpec spec =
      LinearSpec{.batch = 6, .inputs = 20, .outputs = 33, .input_gradient = false};
  std::set<std::uint64_t> of_layers;
  std::set<std::uint64_t> of_programs;
  for (const std::string& name : backend.candidates(spec)) {
    const std::uint64_t digest = layout_digest(spec, *backend.plan(spec, name));
    CHECK(digest == layout_digest(spec, *backend.plan(spec, name)));
    of_layers.insert(digest);
    of_programs.insert(digest_of_program(backend, 6, name));
  }
  CHECK(of_layers.size() > 1);
  CHECK(of_programs.size() == of_layers.size());
}

TEST_CASE("an operator without parameters has no layout, and no batch changes one", "[workloads]") {
  const ReferenceBackend backend;
  const OperatorSpec loss = SoftmaxCrossEntropySpec{.batch = 6, .classes = 4, .global_batch = 12};
  CHECK(layout_digest(loss, *backend.plan(loss, backend.candidates(loss).front())) == 0);
  const OperatorSpec linear = LinearSpec{.batch = 6, .inputs = 20, .outputs = 33};
  const std::string name = backend.candidates(linear).front();
  CHECK(digest_of_program(backend, 3, name) == digest_of_program(backend, 6, name));
}

}  // namespace
}  // namespace ptbench
