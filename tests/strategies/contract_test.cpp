// The contract of every strategy, over the catalogs: it computes what serial training on plain
// loops computes, and repeats itself bit by bit.
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"
#include "strategies/evaluate.h"
#include "tests/strategies/training.h"

namespace ptbench::testing {
namespace {

constexpr int kSteps = 30;

/// ‖a − b‖ / ‖b‖ of the worst tensor.
double worst_difference(const Program& a, const Program& b) {
  const auto left = a.export_parameters();
  const auto right = b.export_parameters();
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

void check_matches_reference(const std::string& strategy, const std::string& name, Size batch,
                             OptimizerSpec optimizer, int threads) {
  CAPTURE(strategy, name, batch, name_of(optimizer.kind), threads);
  const Workload workload = find_workload(name);
  const ReferenceBackend reference;
  CpuDevice device(discover_topology(), threads);
  const CpuBackend cpu(device);
  Training expected(reference, workload, batch, optimizer);
  Training actual(cpu, workload, batch, optimizer, strategy);
  const std::vector<float> losses = actual.losses(kSteps);
  const std::vector<float> oracle = expected.losses(kSteps);
  for (int step = 0; step < kSteps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    CAPTURE(step, losses[at], oracle[at]);
    REQUIRE(std::abs(losses[at] - oracle[at]) <= 1e-5F * std::max(1.0F, std::abs(oracle[at])));
  }
  CHECK(worst_difference(actual.program(), expected.program()) <= 1e-4);
}

TEST_CASE("every strategy matches serial training on plain loops: linear", "[strategies]") {
  for (const StrategyRow& row : strategy_catalog())
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
      for (const Size batch : {1, 7, 32}) {
        OptimizerSpec optimizer = OptimizerSpec::defaults_of(kind);
        optimizer.momentum = kind == OptimizerKind::sgd ? 0.9 : 0.0;
        check_matches_reference(row.name, "linear", batch, optimizer, 2);
      }
}

TEST_CASE("every strategy matches serial training on plain loops: mlp", "[strategies]") {
  for (const StrategyRow& row : strategy_catalog())
    check_matches_reference(row.name, "mlp", 5, find_workload("mlp").optimizer, GENERATE(1, 2, 3));
}

TEST_CASE("losses repeat bit by bit under one plan", "[strategies]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  for (const StrategyRow& row : strategy_catalog())
    for (const Workload& workload : workload_catalog()) {
      CAPTURE(row.name, workload.name);
      Training first(cpu, workload, 16, workload.optimizer, row.name);
      Training second(cpu, workload, 16, workload.optimizer, row.name);
      CHECK(first.program().plan().hash() == second.program().plan().hash());
      CHECK(first.losses(20) == second.losses(20));
    }
}

TEST_CASE("weights travel out and in without a change", "[strategies]") {
  CpuDevice device(discover_topology(), 2);
  const CpuBackend cpu(device);
  const Workload workload = find_workload("mlp");
  Training trained(cpu, workload, 8, workload.optimizer);
  Training fresh(cpu, workload, 8, workload.optimizer);
  (void)trained.losses(3);
  const auto before = trained.program().export_parameters();
  fresh.program().import_parameters(before);
  const auto after = fresh.program().export_parameters();
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(after[i].values == before[i].values);
}

TEST_CASE("accuracy counts every sample once, whatever the batch", "[strategies]") {
  const ReferenceBackend reference;
  const Workload workload = find_workload("linear");
  Training training(reference, workload, 8, workload.optimizer);
  (void)training.losses(20);
  const Dataset& data = training.data().train;  // 25 samples: three batches and one over
  Training single(reference, workload, 1, workload.optimizer);
  single.program().import_parameters(training.program().export_parameters());
  const auto go_on = [] { return true; };
  const auto by_eight = accuracy(training.program(), data, go_on);
  const auto by_one = accuracy(single.program(), data, go_on);
  REQUIRE(by_eight.has_value());
  CHECK(by_eight == by_one);
  CHECK(std::fmod(*by_eight * 25, 1.0) == Approx(0).margin(1e-9));
  CHECK_FALSE(accuracy(training.program(), data, [] { return false; }).has_value());
}

TEST_CASE("unknown strategies are refused with a suggestion", "[strategies]") {
  CHECK_THROWS_WITH(find_strategy("seral"), Catch::Contains("did you mean 'serial'?"));
}

}  // namespace
}  // namespace ptbench::testing
