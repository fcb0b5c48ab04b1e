// Whole programs against finite differences of their loss: every edge of a graph, forks and fused
// operators included, carries the right gradient.
#include "workloads/program.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/reference/reference_backend.h"
#include "src/base/random.h"
#include "tests/support/first_plan.h"

namespace ptbench {
namespace {

float loss_of(const Program& program) {
  return read_back(program.device(), program.loss()).values().front();
}

class ProgramUnderTest {
 public:
  explicit ProgramUnderTest(const Graph& graph, Size batch, GradientUse use = GradientUse::kept) {
    const Lowering lowering{.batch = batch, .global_batch = batch};
    const auto plan = testing::first_plan(graph, lowering, backend_);
    program_ = std::make_unique<Program>(plan, memory_, use);
    program_->initialise(3);
    fill_batch(0);
  }

  Program& operator*() { return *program_; }
  Program* operator->() { return program_.get(); }

  void fill_batch(std::uint64_t seed) {
    const CounterRandom random(seed, 9);
    const BatchRoom room = program_->await_room();
    const std::span<float> input = room.inputs.as<float>();
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = random.uniform(i, -1, 1);
    const std::span<std::int32_t> labels = room.labels;
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] =
          static_cast<std::int32_t>(i % static_cast<std::size_t>(program_->plan().classes()));
  }

  std::vector<float> gradients(GradientMode mode = GradientMode::replace) {
    program_->forward();
    program_->backward(mode, [](Range, Program::ReadyMark) {});
    return {program_->gradients().begin(), program_->gradients().end()};
  }

 private:
  ReferenceBackend backend_;
  HostMemorySource memory_;
  std::unique_ptr<Program> program_;
};

Conv2dLayer conv(Size outputs, Size kernel, Size stride, Size padding) {
  return {.outputs = outputs, .window = Window::square(kernel, stride, padding), .bias = true};
}

/// Every kind of layer, shortcuts of two and three users, a tensor that is added to itself.
Graph everything() {
  return {
      .input_shape = {2, 6, 6},
      .classes = 3,
      .nodes = {{.name = "conv1", .layer = conv(4, 3, 1, 1), .inputs = {-1}},
                {.name = "bn1", .layer = BatchNormLayer{}, .inputs = {0}},
                {.name = "gelu1", .layer = GeluLayer{}, .inputs = {1}},
                {.name = "conv2", .layer = conv(4, 3, 1, 1), .inputs = {2}},
                {.name = "bn2", .layer = BatchNormLayer{}, .inputs = {3}},
                {.name = "add1", .layer = AddLayer{}, .inputs = {4, 2}},
                {.name = "gelu2", .layer = GeluLayer{}, .inputs = {5}},
                {.name = "add2", .layer = AddLayer{}, .inputs = {6, 2}},
                {.name = "double", .layer = AddLayer{}, .inputs = {7, 7}},
                {.name = "pool",
                 .layer = PoolLayer{.kind = PoolKind::average, .window = Window::square(3, 2, 1)},
                 .inputs = {8}},
                {.name = "flatten", .layer = FlattenLayer{}, .inputs = {9}},
                {.name = "fc1", .layer = LinearLayer{8}, .inputs = {10}},
                {.name = "bn3", .layer = BatchNormLayer{}, .inputs = {11}},
                {.name = "gelu3", .layer = GeluLayer{}, .inputs = {12}},
                {.name = "fc2", .layer = LinearLayer{3}, .inputs = {13}}}};
}

TEST_CASE("gradients of a whole graph are those of its loss", "[workloads]") {
  ProgramUnderTest program(everything(), 4);
  const std::vector<float> gradients = program.gradients();
  const std::span<float> parameters = program->parameters();
  REQUIRE(gradients.size() == parameters.size());
  constexpr float kStep = 1e-2F;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < parameters.size(); i += 3) {
    const float kept = parameters[i];
    const auto loss_at = [&](float value) {
      parameters[i] = value;
      program->parameters_changed();
      program->forward();
      return static_cast<double>(loss_of(*program));
    };
    const double slope = (loss_at(kept + kStep) - loss_at(kept - kStep)) / (2.0 * kStep);
    parameters[i] = kept;
    difference += std::pow(slope - static_cast<double>(gradients[i]), 2);
    norm += slope * slope;
  }
  // f32 losses of about 1 resolve slopes to about 1e-7 / 2e-2; the curvature adds step²/6.
  CHECK(std::sqrt(difference / norm) < 5e-3);
}

TEST_CASE("gradients of micro-batches add up", "[workloads]") {
  const Graph graph = everything();
  ProgramUnderTest single(graph, 4);
  ProgramUnderTest summing(graph, 4, GradientUse::accumulated);
  const std::vector<float> first = single.gradients();
  single.fill_batch(1);
  const std::vector<float> second = single.gradients();
  (void)summing.gradients(GradientMode::replace);
  summing.fill_batch(1);
  const std::vector<float> sum = summing.gradients(GradientMode::add);
  for (std::size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == first[i] + second[i]);
  // Replacing forgets what was there.
  CHECK(summing.gradients(GradientMode::replace) == second);
}

TEST_CASE("the loss scale multiplies every gradient", "[workloads]") {
  ProgramUnderTest program(everything(), 4);
  const std::vector<float> plain = program.gradients();
  program->set_loss_scale(1024);
  const std::vector<float> scaled = program.gradients();
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(scaled[i] / 1024 == Approx(plain[i]).epsilon(1e-4).margin(1e-7));
}

TEST_CASE("evaluation uses running statistics and leaves everything as it is", "[workloads]") {
  ProgramUnderTest program(everything(), 4);
  program->forward();
  const float in_training = loss_of(*program);
  const auto before = program->export_tensors();
  program->evaluate();
  const float evaluated = loss_of(*program);
  CHECK(evaluated != in_training);
  program->evaluate();
  CHECK(loss_of(*program) == evaluated);
  const auto after = program->export_tensors();
  for (std::size_t i = 0; i < before.size(); ++i) {
    CAPTURE(before[i].name);
    CHECK(before[i].values == after[i].values);
  }
}

TEST_CASE("weights have PyTorch's names, running statistics included", "[workloads]") {
  ProgramUnderTest program(everything(), 2);
  std::vector<std::string> names;
  for (const NamedTensor& tensor : program->export_tensors()) names.push_back(tensor.name);
  CHECK(std::ranges::count(names, "bn1.running_mean") == 1);
  CHECK(names[0] == "conv1.weight");
  CHECK(names[1] == "conv1.bias");
  CHECK(names.back() == "fc2.bias");
}

}  // namespace
}  // namespace ptbench
