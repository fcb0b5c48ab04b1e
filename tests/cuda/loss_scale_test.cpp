// A loss scale that changes while a device trains: steps are skipped, halved and doubled scales are
// told to the device, and to recorded steps too, as on the CPU. Two layers that undo each other's
// factor have one gradient near the end of what f32 holds, so that both overflow at the same scale.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda/trainings.h"

namespace ptbench::testing {
namespace {

constexpr float kFactor = 0x1p33F;
/// The first layers of mlp_graph() stay as they are at this rate, and the weights of the second,
/// divided by the factor, are trained at 0.05.
constexpr double kRate = 0.05 * 0x1p-66;
/// At the larger scale a gradient of fc2's weights overflows that would be a sixteenth, neither
/// stretched nor scaled; at the smaller one it may be nearly four.
constexpr float kTooLarge = 0x1p99F;
constexpr float kFine = 0x1p93F;

/// fc1 gives the factor times as much, and fc2 takes it back: all else is as before but the
/// gradient of fc2's weights, which is the factor times as large.
void stretch(Program& program) {
  std::vector<NamedTensor> tensors = program.export_tensors();
  for (NamedTensor& tensor : tensors)
    for (float& value : tensor.values) {
      if (tensor.name.starts_with("fc1.")) value *= kFactor;
      if (tensor.name == "fc2.weight") value /= kFactor;
    }
  program.import_tensors(tensors);
}

/// A scaler that has come to `scale`, and doubles it after so many finite steps.
LossScaler scaler_at(float scale, Size finite_steps_left) {
  LossScaler scaler({.kind = LossScaling::dynamic});
  const auto add_finite = [&](Size steps) {
    for (Size step = 0; step < steps; ++step) scaler.update(true);
  };
  while (scaler.scale() < scale) add_finite(LossScaler::kGrowthInterval);
  add_finite(LossScaler::kGrowthInterval - finite_steps_left);
  return scaler;
}

/// What steps of scaled training come to, step by step.
struct ScaledSteps {
  std::vector<float> losses;
  std::vector<float> scales;  ///< after each
  Size skipped = 0;
  Size updates = 0;
};

ScaledSteps train_scaled(Strategy& strategy, const LossScaler& scaler, bool records) {
  constexpr int kSteps = 10;
  stretch(strategy.replica().program());
  strategy.replica().set_scaler(scaler);
  record_if(strategy, records);
  ScaledSteps steps;
  for (int step = 0; step < kSteps; ++step) {
    steps.losses.push_back(strategy.step());
    steps.scales.push_back(strategy.replica().scaler().scale());
  }
  steps.skipped = strategy.replica().scaler().skipped() - scaler.skipped();
  steps.updates = strategy.updates();
  return steps;
}

void check_as_on_cpu(const ScaledSteps& found, const ScaledSteps& expected) {
  CHECK(found.scales == expected.scales);
  CHECK(found.skipped == expected.skipped);
  CHECK(found.updates == expected.updates);
  REQUIRE(found.losses.size() == expected.losses.size());
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    CAPTURE(step, found.losses[step], expected.losses[step]);
    CHECK(std::abs(found.losses[step] - expected.losses[step]) <=
          1e-4F * std::max(1.0F, expected.losses[step]));
  }
}

/// A scale that is halved at first, and one that is doubled after three steps.
struct ScaleChange {
  float scale;
  Size finite_steps_left;
};
constexpr ScaleChange kHalved{.scale = kTooLarge, .finite_steps_left = 1000};
constexpr ScaleChange kDoubled{.scale = kFine, .finite_steps_left = 3};

LossScaler scaler_of(const ScaleChange& change) {
  return scaler_at(change.scale, change.finite_steps_left);
}

/// That what the CPU did was what the test is about.
void check_change(const ScaledSteps& steps, const ScaleChange& change) {
  if (change.scale == kTooLarge) {
    CHECK(steps.scales.front() == kTooLarge / 2);
    CHECK(steps.skipped >= 2);
  } else {
    CHECK(steps.scales[1] == kFine);
    CHECK(steps.scales[2] == 2 * kFine);
  }
  CHECK(steps.updates >= 3);
  CHECK(steps.skipped + steps.updates == static_cast<Size>(steps.losses.size()));
}

TrainingSpec spec_with_scale(const std::string& strategy = "serial") {
  return {.micro_batch = 1,
          .step = {.optimizer = {.lr = kRate, .momentum = 0.5},
                   .loss_scale = {.kind = LossScaling::dynamic}},
          .strategy = strategy,
          .samples = 24};
}

ScaledSteps train_scaled_on_cpu(const TrainingSpec& spec, const ScaleChange& change) {
  const Site site = open_site({.topology = discover_topology()});
  Training training(*site.backend, mlp_graph(), spec);
  return train_scaled(training.strategy(), scaler_of(change), false);
}

TEST_CASE("a loss scale that changes is told to a CUDA device, and to recorded steps", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site("cuda:0");
  for (const ScaleChange& change : {kHalved, kDoubled})
    for (const Size micro_batches : {1, 2}) {
      TrainingSpec spec = spec_with_scale();
      spec.step.accumulation_steps = micro_batches;
      const ScaledSteps expected = train_scaled_on_cpu(spec, change);
      check_change(expected, change);
      for (const bool records : {false, true}) {
        CAPTURE(change.scale, micro_batches, records);
        Training training(*site.backend, mlp_graph(), spec);
        check_as_on_cpu(train_scaled(training.strategy(), scaler_of(change), records), expected);
      }
    }
}

TEST_CASE("a loss scale that changes is told to dp's master on a CUDA device", "[cuda]") {
  require_cuda_devices(2);
  const Site site = open_cuda_site("cuda:0");
  for (const ScaleChange& change : {kHalved, kDoubled}) {
    CAPTURE(change.scale);
    TrainingSpec spec = spec_with_scale("dp");
    spec.replicas = 2;
    const ScaledSteps expected = train_scaled_on_cpu(spec, change);
    check_change(expected, change);
    Training training(*site.backend, mlp_graph(), with_second_device(spec));
    check_as_on_cpu(train_scaled(training.strategy(), scaler_of(change), false), expected);
  }
}

/// By a serial replica that makes the ranks' micro-batches in turn.
ScaledSteps train_scaled_in_turn(const RanksSpec& spec, const ScaleChange& change) {
  const Site site = open_site({.topology = discover_topology()});
  HostMemorySource memory;
  SoloCommunicator alone(memory);
  ControlChannel control = control_alone(memory);
  RankTraining training(mlp_graph(), in_turn(spec), *site.backend, alone, control);
  return train_scaled(training.strategy(), scaler_of(change), false);
}

TEST_CASE("a loss scale that changes is told to the GPUs of two ranks", "[cuda]") {
  require_gpus_of_two_ranks();
  GpuRanks gpus;
  for (const StrategyRow& row : {ddp_strategy(), ddp_flat_strategy(), ddp_central_strategy()})
    for (const ScaleChange& change : {kHalved, kDoubled}) {
      const RanksSpec spec{.row = row,
                           .training = spec_with_scale(),
                           .options = {.first_bucket_bytes = 256, .bucket_bytes = 1024}};
      const ScaledSteps expected = train_scaled_in_turn(spec, change);
      check_change(expected, change);
      for (const bool records : {false, true}) {
        CAPTURE(row.name, change.scale, records);
        std::vector<ScaledSteps> found(2);
        on_gpus_of_two_ranks(gpus, [&](GpuRank rank) {
          RankTraining training(mlp_graph(), spec, rank.backend, rank.communicator, rank.control);
          found[static_cast<std::size_t>(rank.communicator.rank())] =
              train_scaled(training.strategy(), scaler_of(change), records);
        });
        check_as_on_cpu(found[0], expected);
        CHECK(found[1].scales == expected.scales);
      }
    }
}

}  // namespace
}  // namespace ptbench::testing
