// Several micro-batches on their way through one program: what they compute is what they would
// compute one after the other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "src/base/random.h"
#include "src/device/isa.h"
#include "tests/support/first_plan.h"

namespace ptbench {
namespace {

constexpr Size kBatch = 4;
constexpr Size kSlots = 3;

Graph layers_graph() {
  return {
      .input_shape = {2, 8, 8},
      .classes = 3,
      .nodes = {
          {.name = "conv",
           .layer = Conv2dLayer{.outputs = 16, .window = Window::square(3, 1, 1), .bias = false},
           .inputs = {-1}},
          {.name = "bn", .layer = BatchNormLayer{}, .inputs = {0}},
          {.name = "relu", .layer = ReluLayer{}, .inputs = {1}},
          {.name = "pool",
           .layer = PoolLayer{.kind = PoolKind::max, .window = Window::square(2, 2, 0)},
           .inputs = {2}},
          {.name = "flatten", .layer = FlattenLayer{}, .inputs = {3}},
          {.name = "fc1", .layer = LinearLayer{48}, .inputs = {4}},
          {.name = "relu1", .layer = ReluLayer{}, .inputs = {5}},
          {.name = "fc2", .layer = LinearLayer{3}, .inputs = {6}}}};
}

/// Every operator by its `candidate`th way, or its last one.
std::shared_ptr<const ProgramPlan> plan_by(std::size_t candidate, const KernelBackend& backend,
                                           ElementType type, bool has_loss = true) {
  const Graph graph = layers_graph();
  const Lowering lowering{
      .batch = kBatch, .global_batch = kSlots * kBatch, .type = type, .has_loss = has_loss};
  return std::make_shared<const ProgramPlan>(
      graph, lowering, backend, testing::choices_by(candidate, lower(graph, lowering), backend));
}

void feed(Program& program, Size micro_batch, Size slot) {
  const CounterRandom random(static_cast<std::uint64_t>(micro_batch), 9);
  const BatchRoom room = program.await_room(slot);
  const std::span<float> input = room.inputs.as<float>();
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = random.uniform(i, -1, 1);
  for (std::size_t i = 0; i < room.labels.size(); ++i)
    room.labels[i] = static_cast<std::int32_t>(random.below(i, 3));
  program.send_batch(slot);
}

/// What is compared, bit by bit.
struct Passed {
  std::vector<float> gradients;
  std::vector<float> losses;  ///< by micro-batch
  std::vector<std::vector<float>> logits;
  friend bool operator==(const Passed&, const Passed&) = default;
};

/// One call: a micro-batch's forward pass, or its backward pass.
struct Call {
  Size micro_batch;
  bool is_backward;
};

/// Micro-batch k is in slot k of a program with so many, else in slot 0.
Passed passed(const std::shared_ptr<const ProgramPlan>& plan, Size slots,
              const std::vector<Call>& calls) {
  HostMemorySource memory;
  Program program(plan, memory, GradientUse::accumulated, slots);
  program.initialise(3);
  Passed result{.gradients = {},
                .losses = std::vector<float>(kSlots),
                .logits = std::vector<std::vector<float>>(kSlots)};
  GradientMode mode = GradientMode::replace;
  for (const Call& call : calls) {
    const Size slot = slots == 1 ? 0 : call.micro_batch;
    if (call.is_backward) {
      program.backward(slot, mode, [](Range, Program::ReadyMark) {});
      mode = GradientMode::add;
      continue;
    }
    feed(program, call.micro_batch, slot);
    program.forward(slot);
    const auto at = static_cast<std::size_t>(call.micro_batch);
    result.losses[at] = read_back(program.device(), program.loss(slot)).values().front();
    result.logits[at].resize(static_cast<std::size_t>(kBatch) * 3);
    program.read_logits(result.logits[at], slot);
  }
  result.gradients = {program.gradients().begin(), program.gradients().end()};
  return result;
}

/// The backward passes of both come in one order, in which gradients are added.
const std::vector<Call> kInTurn{{0, false}, {0, true},  {2, false},
                                {2, true},  {1, false}, {1, true}};
const std::vector<Call> kMixed{{0, false}, {1, false}, {0, true}, {2, false}, {2, true}, {1, true}};

void check_mixed(const KernelBackend& backend, ElementType type, std::size_t candidates) {
  for (std::size_t candidate = 0; candidate < candidates; ++candidate) {
    CAPTURE(candidate);
    const auto plan = plan_by(candidate, backend, type);
    const Passed in_turn = passed(plan, 1, kInTurn);
    CHECK(std::ranges::count(in_turn.gradients, 0.0F) < std::ssize(in_turn.gradients) / 2);
    CHECK(in_turn.losses[0] != in_turn.losses[1]);
    CHECK(passed(plan, kSlots, kMixed) == in_turn);
  }
}

/// check(backend, type, how many ways its operators have at most): on plain loops, and on
/// processors in each type that this one multiplies.
template <class Check>
void for_each_backend(const Check& check) {
  check(ReferenceBackend(), ElementType::f32, 1);
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  check(backend, ElementType::f32, 4);
  if (has_bf16_products()) check(backend, ElementType::bf16, 4);
}

TEST_CASE("micro-batches that are on their way together compute what they compute in turn",
          "[workloads]") {
  for_each_backend(check_mixed);
}

TEST_CASE("all slots compute with the parameters that were changed", "[workloads]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend backend(device);
  HostMemorySource memory;
  const auto plan = plan_by(0, backend, has_bf16_products() ? ElementType::bf16 : ElementType::f32);
  Program program(plan, memory, GradientUse::accumulated, 2);
  program.initialise(3);
  const auto loss_in = [&](Size slot) {
    feed(program, 0, slot);
    program.forward(slot);
    return read_back(program.device(), program.loss(slot)).values().front();
  };
  const float before = loss_in(1);
  CHECK(loss_in(0) == before);
  program.initialise(4);
  const float after = loss_in(1);
  CHECK(after != before);
  CHECK(loss_in(0) == after);
}

TEST_CASE("operators update in their passes where one micro-batch is on its way", "[workloads]") {
  const ReferenceBackend backend;
  HostMemorySource memory;
  Program program(plan_by(0, backend, ElementType::f32), memory, GradientUse::kept, 2);
  CHECK_THROWS_AS(
      program.backward_and_update(
          false, [](int, Range, std::span<const float>) {}, [](Range, Program::ReadyMark) {}),
      Defect);
  CHECK_THROWS_AS(Program(plan_by(0, backend, ElementType::f32), memory, GradientUse::kept, 0),
                  Defect);
}

void check_without_loss(const KernelBackend& backend, ElementType type) {
  HostMemorySource memory;
  Program whole(plan_by(0, backend, type), memory);
  Program layers(plan_by(0, backend, type, false), memory);
  CHECK(layers.plan().graph().operators.size() + 1 == whole.plan().graph().operators.size());
  CHECK_THROWS_AS(layers.plan().graph().loss(), Defect);
  for (Program* program : {&whole, &layers}) {
    program->initialise(3);
    feed(*program, 0, 0);
    program->forward();
  }
  CHECK(std::ranges::equal(layers.leaving(), whole.leaving()));
  std::vector<std::byte> gradient;
  whole.backward(GradientMode::replace, [&](Range, Program::ReadyMark) {
    if (gradient.empty())  // what follows may lie where it lay
      gradient.assign(whole.leaving_gradient().begin(), whole.leaving_gradient().end());
  });
  REQUIRE(gradient.size() == layers.leaving_gradient().size());
  std::ranges::copy(gradient, layers.leaving_gradient().begin());
  std::vector<Range> announced;
  layers.backward(GradientMode::replace,
                  [&](Range slice, Program::ReadyMark) { announced.push_back(slice); });
  CHECK(announced.size() == 4);
  CHECK(std::ranges::equal(layers.gradients(), whole.gradients()));
}

TEST_CASE("a program without a loss trains by the gradient that comes from outside",
          "[workloads]") {
  for_each_backend([](const KernelBackend& backend, ElementType type, std::size_t) {
    check_without_loss(backend, type);
  });
}

TEST_CASE("memory is predicted for all slots", "[workloads]") {
  const ReferenceBackend backend;
  const HostMemorySource memory;
  const auto plan = plan_by(0, backend, ElementType::f32);
  const auto predicted = [&](Size slots) {
    return plan->memory({}, GradientUse::accumulated, memory, slots);
  };
  const MemoryPrediction one = predicted(1);
  const MemoryPrediction three = predicted(3);
  CHECK(three.activations == 3 * one.activations);
  CHECK(three.workspace - one.workspace == 2 * memory.footprint(plan->saved_bytes()));
  CHECK(plan->saved_bytes() > 0);
  CHECK(three.parameters == one.parameters);
  CHECK(three.gradients == one.gradients);
}

}  // namespace
}  // namespace ptbench
