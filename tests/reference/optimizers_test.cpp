// The oracle's optimizers against values computed outside of it.
#include <array>
#include <catch2/catch.hpp>

#include "kernels/reference/reference_backend.h"
#include "src/base/error.h"

namespace {

using namespace ptbench;

/// Three updates of one parameter, 2 at first, by the gradients 0.5, -1 and 0.25.
using Trajectory = std::array<double, 3>;

Trajectory trajectory_of(const OptimizerSpec& spec) {
  std::vector<float> parameter{2};
  std::vector<float> gradient{0};
  std::vector<std::vector<float>> state(static_cast<std::size_t>(spec.state_arenas()), {0.0F});
  const auto optimizer = ReferenceBackend().plan_optimizer(
      spec, {parameter, gradient, {state.begin(), state.end()}}, {{{0, 1}, 0}});
  Trajectory trajectory{};
  constexpr std::array<float, 3> kGradients{0.5, -1, 0.25};
  for (std::size_t i = 0; i < kGradients.size(); ++i) {
    gradient[0] = kGradients.at(i);
    optimizer->step({0, 1}, static_cast<Size>(i) + 1);
    trajectory.at(i) = parameter[0];
  }
  return trajectory;
}

void check(const OptimizerSpec& spec, const Trajectory& expected) {
  const Trajectory trajectory = trajectory_of(spec);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(name_of(spec.kind) << " update " << i + 1);
    // Parameters and state are kept in float: a few of its ε of 2.
    CHECK(trajectory.at(i) == Approx(expected.at(i)).epsilon(0).margin(1e-6));
  }
}

}  // namespace

TEST_CASE("sgd: three updates by hand") {
  // p − 0.1·(g + w·p).
  check({.lr = 0.1}, {1.95, 2.05, 2.025});
  check({.lr = 0.1, .weight_decay = 0.5}, {1.85, 1.8575, 1.739625});
  // v is 0.5, 0.9·0.5 − 1 = −0.55, 0.9·(−0.55) + 0.25 = −0.245.
  check({.lr = 0.1, .momentum = 0.9}, {1.95, 2.005, 2.0295});
  // With w = 0.5, v is 1.5, 1.35 − 1 + 0.925 = 1.275, 1.1475 + 0.25 + 0.86125 = 2.25875.
  check({.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5}, {1.85, 1.7225, 1.496625});
}

TEST_CASE("adam and adamw: three updates as torch.optim makes them in double") {
  using enum OptimizerKind;
  check({.kind = adam, .lr = 0.1}, {1.900000002, 1.93661035424057, 1.95027942033898});
  check({.kind = adamw, .lr = 0.1}, {1.900000002, 1.93661035424057, 1.95027942033898});
  check({.kind = adam, .lr = 0.1, .weight_decay = 0.5},
        {1.90000000066667, 1.83551172579745, 1.75693023479494});
  check({.kind = adamw, .lr = 0.1, .weight_decay = 0.5},
        {1.800000002, 1.74661035414057, 1.67294890253195});
  // ε outside the root.
  check({.kind = adam, .lr = 0.1, .epsilon = 0.5}, {1.95, 1.97242785807262, 1.98021213951398});
  check({.kind = adam, .lr = 0.1, .beta1 = 0.5, .beta2 = 0.75},
        {1.900000002, 1.96069769912985, 1.97182366946729});
}

TEST_CASE("adam: under a constant gradient every corrected moment is that of one gradient") {
  const OptimizerSpec spec{.kind = OptimizerKind::adam, .lr = 0.01, .epsilon = 1e-3};
  std::vector<float> parameters{1, 1};
  const std::vector<float> gradients{0.25, -3};
  std::vector<float> first(2);
  std::vector<float> second(2);
  const auto optimizer =
      ReferenceBackend().plan_optimizer(spec, {parameters, gradients, {first, second}}, {});
  for (Size step = 1; step <= 50; ++step) optimizer->step({0, 2}, step);
  CHECK(parameters[0] == Approx(1 - 50 * 0.01 * 0.25 / (0.25 + 1e-3)).epsilon(0).margin(1e-5));
  CHECK(parameters[1] == Approx(1 + 50 * 0.01 * 3 / (3 + 1e-3)).epsilon(0).margin(1e-5));
}

TEST_CASE("the reference's optimizer refuses what does not fit") {
  std::vector<float> three(3);
  std::vector<float> two(2);
  const ReferenceBackend backend;
  const OptimizerSpec sgd{.lr = 0.1};
  const OptimizerSpec momentum{.lr = 0.1, .momentum = 0.9};
  CHECK_THROWS_AS(backend.plan_optimizer(sgd, {three, two, {}}, {}), Defect);
  CHECK_THROWS_AS(backend.plan_optimizer(sgd, {three, three, {three}}, {}), Defect);
  CHECK_THROWS_AS(backend.plan_optimizer(momentum, {three, three, {}}, {}), Defect);
  CHECK_THROWS_AS(backend.plan_optimizer(momentum, {three, three, {two}}, {}), Defect);
  const auto optimizer = backend.plan_optimizer(sgd, {three, three, {}}, {});
  CHECK_THROWS_AS(optimizer->step({0, 3}, 0), Defect);
  CHECK_THROWS_AS(optimizer->step({0, 4}, 1), Defect);
  CHECK_NOTHROW(optimizer->step({3, 3}, 1));
}
