// The contract of every strategy, over the catalogs: it computes what serial training on plain
// loops computes, and repeats itself bit by bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "src/device/isa.h"
#include "strategies/evaluate.h"
#include "tests/strategies/training.h"

namespace ptbench::testing {
namespace {

constexpr int kContractSteps = 30;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif
constexpr int kFewSteps = kWatched ? 2 : 10;  // where the plain loops take long

/// ‖a − b‖ / ‖b‖ of the worst tensor.
double worst_difference(const Program& a, const Program& b) {
  const auto left = a.export_tensors();
  const auto right = b.export_tensors();
  double worst = 0;
  for (std::size_t tensor = 0; tensor < left.size(); ++tensor) {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < left[tensor].values.size(); ++i) {
      difference += std::pow(left[tensor].values[i] - right[tensor].values[i], 2);
      norm += std::pow(right[tensor].values[i], 2);
    }
    worst = std::max(worst, std::sqrt(difference / norm));
  }
  return worst;
}

/// How the row `strategy` trains global batches of about `batch` samples on this machine.
TrainingSpec spec_of(const StrategyRow& row, Size batch, const OptimizerSpec& optimizer,
                     int threads) {
  const Size replicas = row.one_process ? 2 : 1;
  return {.micro_batch = std::max<Size>(1, batch / (row.accumulation_steps * replicas)),
          .step = {.optimizer = optimizer, .accumulation_steps = row.accumulation_steps},
          .type = row.mixed_precision ? ElementType::bf16 : ElementType::f32,
          .strategy = row.name,
          .replicas = replicas,
          .threads = threads};
}

bool can_run(const StrategyRow& row) { return !row.mixed_precision || has_bf16_products(); }

/// Against one fp32 replica that takes the global batch at once.
void check_matches_reference(const StrategyRow& row, const std::string& name, Size batch,
                             OptimizerSpec optimizer, int threads, int steps = kContractSteps) {
  if (!can_run(row)) return;
  CAPTURE(row.name, name, batch, name_of(optimizer.kind), threads);
  const Workload workload = find_workload(name);
  const ReferenceBackend reference;
  CpuDevice device(discover_topology(), threads);
  const CpuBackend cpu(device);
  const TrainingSpec tested = spec_of(row, batch, optimizer, threads);
  Training expected(reference, workload,
                    {.micro_batch = tested.global_batch(), .step = {.optimizer = optimizer}});
  Training actual(cpu, workload, tested);
  const float bound = row.mixed_precision ? 2e-2F : 1e-5F;
  const std::vector<float> losses = actual.losses(steps);
  const std::vector<float> oracle = expected.losses(steps);
  for (int step = 0; step < steps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    CAPTURE(step, losses[at], oracle[at]);
    REQUIRE(std::abs(losses[at] - oracle[at]) <= bound * std::max(1.0F, std::abs(oracle[at])));
  }
  if (!row.mixed_precision) CHECK(worst_difference(actual.program(), expected.program()) <= 1e-4);
}

TEST_CASE("every strategy matches serial training on plain loops: linear", "[strategies]") {
  for (const StrategyRow& row : strategy_catalog())
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
      for (const Size batch : {1, 7, 32}) {
        OptimizerSpec optimizer = OptimizerSpec::defaults_of(kind);
        optimizer.momentum = kind == OptimizerKind::sgd ? 0.9 : 0.0;
        check_matches_reference(row, "linear", batch, optimizer, 2);
      }
}

TEST_CASE("every strategy matches serial training on plain loops: mlp", "[strategies][long]") {
  for (const StrategyRow& row : strategy_catalog())
    check_matches_reference(row, "mlp", 5, find_workload("mlp").optimizer, GENERATE(1, 2, 3),
                            kFewSteps);
}

TEST_CASE("losses repeat bit by bit under one plan", "[strategies][long]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  for (const StrategyRow& row : strategy_catalog())
    for (const Workload& workload : workload_catalog()) {
      // A step of ResNet-50 on 224 × 224 would tell no more than one of ResNet-18, which takes
      // minutes where every access is watched (the small residual network is watched below).
      if (!can_run(row) || workload.name == "resnet50") continue;
      if (kWatched && workload.name == "resnet18") continue;
      CAPTURE(row.name, workload.name);
      const bool large = workload.name == "resnet18";
      const TrainingSpec spec = spec_of(row, large ? 4 : 16, workload.optimizer, 2);
      Training first(cpu, workload, spec);
      Training second(cpu, workload, spec);
      CHECK(first.program().plan().hash() == second.program().plan().hash());
      CHECK(first.losses(large ? 2 : 20) == second.losses(large ? 2 : 20));
    }
}

TEST_CASE("weights travel out and in without a change", "[strategies]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const Workload workload = find_workload("mlp");
  const TrainingSpec spec{.micro_batch = 8, .step = {.optimizer = workload.optimizer}};
  Training trained(cpu, workload, spec);
  Training fresh(cpu, workload, spec);
  (void)trained.losses(3);
  const auto before = trained.program().export_tensors();
  fresh.program().import_tensors(before);
  const auto after = fresh.program().export_tensors();
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].values == before[i].values);
}

TEST_CASE("accuracy counts every sample once, whatever the batch", "[strategies]") {
  const ReferenceBackend reference;
  const Workload workload = find_workload("linear");
  Training training(reference, workload,
                    {.micro_batch = 8, .step = {.optimizer = workload.optimizer}});
  (void)training.losses(20);
  const Dataset& data = training.data().train;  // 25 samples: three batches and one over
  Training single(reference, workload,
                  {.micro_batch = 1, .step = {.optimizer = workload.optimizer}});
  single.program().import_tensors(training.program().export_tensors());
  const auto go_on = [] { return true; };
  const auto by_eight = accuracy(training.program(), data, go_on);
  const auto by_one = accuracy(single.program(), data, go_on);
  REQUIRE(by_eight.has_value());
  CHECK(by_eight == by_one);
  CHECK(std::fmod(*by_eight * 25, 1.0) == Approx(0).margin(1e-9));
  CHECK_FALSE(accuracy(training.program(), data, [] { return false; }).has_value());
}

/// Of 20 and 33 channels its operators' parameters have padding, of multiples of 16 not all.
Graph small_resnet(Size channels = 20, Size last_channels = 33) {
  const auto conv = [](Size outputs, Size stride) {
    return Conv2dLayer{.outputs = outputs,
                       .window = Window::square(3, stride, 1),
                       .bias = false,
                       .init = ConvInit::kaiming_normal};
  };
  return {.input_shape = {3, 9, 9},
          .classes = 4,
          .nodes = {{.name = "conv1", .layer = conv(channels, 1), .inputs = {-1}},
                    {.name = "bn1", .layer = BatchNormLayer{}, .inputs = {0}},
                    {.name = "relu1", .layer = ReluLayer{}, .inputs = {1}},
                    {.name = "conv2", .layer = conv(channels, 1), .inputs = {2}},
                    {.name = "bn2", .layer = BatchNormLayer{}, .inputs = {3}},
                    {.name = "add1", .layer = AddLayer{}, .inputs = {4, 2}},
                    {.name = "relu2", .layer = ReluLayer{}, .inputs = {5}},
                    {.name = "conv3", .layer = conv(last_channels, 2), .inputs = {6}},
                    {.name = "gelu", .layer = GeluLayer{}, .inputs = {7}},
                    {.name = "pool", .layer = GlobalPoolLayer{}, .inputs = {8}},
                    {.name = "flatten", .layer = FlattenLayer{}, .inputs = {9}},
                    {.name = "fc", .layer = LinearLayer{4}, .inputs = {10}}}};
}

TEST_CASE("a residual network on the CPU computes what plain loops compute", "[strategies][long]") {
  const ReferenceBackend reference;
  const int threads = GENERATE(1, 2, 3);
  CpuDevice device(discover_topology(), threads);
  const CpuBackend cpu(device);
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    if (type == ElementType::bf16 && !has_bf16_products()) continue;
    TrainingSpec spec{.micro_batch = 6, .step = {.optimizer = {.lr = 0.01, .momentum = 0.9}}};
    spec.type = type;
    Training actual(cpu, small_resnet(), spec);
    Training expected(reference, small_resnet(), spec);
    const std::vector<float> losses = actual.losses(10);
    const std::vector<float> oracle = expected.losses(10);
    // Batch norm divides by standard deviations of a few values: rounding grows from step to step.
    const float bound = type == ElementType::bf16 ? 3e-2F : 1e-4F;
    for (std::size_t step = 0; step < losses.size(); ++step) {
      CAPTURE(threads, name_of(type), step, losses[step], oracle[step]);
      CHECK(std::abs(losses[step] - oracle[step]) <= bound * std::max(1.0F, oracle[step]));
    }
  }
}

TEST_CASE("accumulation, bf16 and loss scaling combine", "[strategies]") {
  if (!has_bf16_products()) return;
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const Workload workload = find_workload("mlp");
  const TrainingSpec plain{.micro_batch = 16, .step = {.optimizer = workload.optimizer}};
  TrainingSpec all = plain;
  all.micro_batch = 4;
  all.step.accumulation_steps = 4;
  all.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
  all.type = ElementType::bf16;
  Training expected(cpu, workload, plain);
  Training actual(cpu, workload, all);
  const std::vector<float> losses = actual.losses(kContractSteps);
  const std::vector<float> oracle = expected.losses(kContractSteps);
  for (std::size_t step = 0; step < losses.size(); ++step)
    CHECK(std::abs(losses[step] - oracle[step]) <= 2e-2F * std::max(1.0F, oracle[step]));
  CHECK(actual.strategy().replica().scaler().skipped() == 0);
}

TEST_CASE("an update in the midst of backward changes no bit", "[strategies]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const Workload workload = find_workload("mlp");
  std::vector<std::string> candidates;
  if (has_bf16_products()) candidates = {"pairs 1x2", "pairs 2x1", "widened 1x2"};
  if (detect_bf16_products() == Bf16Products::amx) candidates.emplace_back("tiles 1x2");
  for (const std::string& candidate : candidates) {
    CAPTURE(candidate);
    const TrainingSpec spec{.micro_batch = 32,
                            .step = {.optimizer = workload.optimizer},
                            .type = ElementType::bf16,
                            .candidate = candidate};
    Training passing(cpu, workload, spec);
    Training keeping(cpu, workload, spec);
    Training afterwards(cpu, workload, spec);
    keeping.strategy().replica().keep_gradients(true);
    const std::vector<float> losses = passing.losses(5);
    CHECK(keeping.losses(5) == losses);
    for (Size step = 1; step <= 5; ++step) {
      Replica& replica = afterwards.strategy().replica();
      replica.compute_gradients([](Range, Program::ReadyMark) {});
      CHECK(replica.read_loss() == losses[static_cast<std::size_t>(step) - 1]);
      replica.optimizer_step(replica.all(), step);
    }
    CHECK(std::ranges::equal(passing.program().parameters(), afterwards.program().parameters()));
    CHECK(std::ranges::equal(keeping.program().gradients(), afterwards.program().gradients()));
    // Those of weights went no further than the caches.
    CHECK(!std::ranges::equal(passing.program().gradients(), afterwards.program().gradients()));
  }
}

/// The names of all candidates that an operator of the graph has, each once.
std::vector<std::string> candidates_of(const KernelBackend& backend, const Graph& graph,
                                       const Lowering& lowering) {
  std::vector<std::string> all;
  const LoweredGraph lowered_graph = lower(graph, lowering);
  for (const LoweredOperator& lowered : lowered_graph.operators)
    for (const std::string& candidate : backend.candidates(lowered.spec))
      if (std::ranges::find(all, candidate) == all.end()) all.push_back(candidate);
  return all;
}

TEST_CASE("that gradients pass changes no bit", "[strategies][long]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const std::vector<OptimizerSpec> optimizers{{.lr = 0.01, .momentum = 0.9, .weight_decay = 1e-3},
                                              OptimizerSpec::defaults_of(OptimizerKind::adamw)};
  const auto check = [&](const Graph& graph, const TrainingSpec& kept) {
    CAPTURE(kept.candidate, name_of(kept.type), name_of(kept.step.optimizer.kind));
    TrainingSpec passing = kept;
    passing.step.keeps_gradients = false;
    Training expected(cpu, graph, kept);
    Training actual(cpu, graph, passing);
    CHECK(actual.losses(3) == expected.losses(3));
    CHECK(std::ranges::equal(actual.program().parameters(), expected.program().parameters()));
    const auto state = actual.strategy().replica().optimizer_state();
    const auto expected_state = expected.strategy().replica().optimizer_state();
    for (std::size_t i = 0; i < state.size(); ++i)
      CHECK(std::ranges::equal(state[i], expected_state[i]));
  };
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    if (type == ElementType::bf16 && !has_bf16_products()) continue;
    for (const OptimizerSpec& optimizer : optimizers) {
      TrainingSpec spec{.micro_batch = 6, .step = {.optimizer = optimizer}, .type = type};
      const Lowering lowering{.batch = 6, .global_batch = 6, .type = type};
      std::vector<Graph> graphs{small_resnet(), small_resnet(32, 48)};
      if (!kWatched) graphs.push_back(find_workload("mlp").build({784}));
      for (const Graph& graph : graphs)
        for (const std::string& candidate : candidates_of(cpu, graph, lowering)) {
          spec.candidate = candidate;
          check(graph, spec);
        }
    }
  }
}

TEST_CASE("who wants all gradients is told where they pass", "[strategies]") {
  CpuDevice device(discover_topology(), 1);
  const CpuBackend cpu(device);
  TrainingSpec spec{.micro_batch = 4, .step = {.optimizer = {}}};
  spec.step.keeps_gradients = false;
  Training passing(cpu, small_resnet(), spec);
  Replica& replica = passing.strategy().replica();
  CHECK_THROWS_AS(replica.keep_gradients(true), Defect);
  CHECK_THROWS_AS(replica.after_each_micro_batch([](Size) {}), Defect);
  CHECK_THROWS_AS(replica.observe_computing({}), Defect);
  CHECK_THROWS_AS(replica.update_all(1), Defect);
  CHECK_THROWS_AS(replica.compute_gradients([](Range, Program::ReadyMark) {}), Defect);
  CHECK_THROWS_AS(replica.program().gradients(), Defect);
  CHECK_THROWS_AS(replica.program().gradients_of(replica.all()), Defect);
  spec.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
  CHECK_THROWS_AS(Training(cpu, small_resnet(), spec), Defect);
}

TEST_CASE("a power of two as loss scale changes no bit in fp32", "[strategies]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const Workload workload = find_workload("mlp");
  TrainingSpec spec{.micro_batch = 16, .step = {.optimizer = workload.optimizer}};
  Training plain(cpu, workload, spec);
  spec.step.loss_scale = {.kind = LossScaling::fixed, .value = 256};
  Training scaled(cpu, workload, spec);
  CHECK(plain.losses(10) == scaled.losses(10));
}

TEST_CASE("a step whose gradients overflow is skipped, and training goes on", "[strategies]") {
  const ReferenceBackend reference;
  const Graph graph{.input_shape = {6},
                    .classes = 3,
                    .nodes = {{.name = "fc1", .layer = LinearLayer{5}, .inputs = {-1}},
                              {.name = "fc2", .layer = LinearLayer{3}, .inputs = {0}}}};
  TrainingSpec spec{.micro_batch = 8, .step = {.optimizer = {.lr = 1e-37}}};
  spec.step.loss_scale = {.kind = LossScaling::dynamic, .value = 1};
  Training training(reference, graph, spec);
  // What flows back through such weights, times 65536, is more than a float holds.
  auto before = training.program().export_tensors();
  for (NamedTensor& tensor : before)
    if (tensor.name == "fc2.weight")
      for (float& value : tensor.values) value *= 1e35F;
  training.program().import_tensors(before);
  (void)training.losses(1);
  const LossScaler& scaler = training.strategy().replica().scaler();
  CHECK(scaler.skipped() == 1);
  CHECK(scaler.scale() == LossScaler::kFirstScale / 2);
  const auto after = training.program().export_tensors();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].values == before[i].values);
  (void)training.losses(20);
  CHECK(scaler.skipped() < 20);
  const auto later = training.program().export_tensors();
  CHECK(later.front().values != before.front().values);
}

TEST_CASE("unknown strategies are refused with a suggestion", "[strategies]") {
  CHECK_THROWS_WITH(find_strategy("seral"), Catch::Contains("did you mean 'serial'?"));
}

}  // namespace
}  // namespace ptbench::testing
