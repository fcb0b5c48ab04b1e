#include "kernels/choose.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>

#include "kernels/reference/reference_backend.h"
#include "src/base/random.h"

namespace ptbench {
namespace {

/// Which candidate ran last.
struct Ran {
  std::string candidate;
};

class FakeOperator final : public Operator {
 public:
  FakeOperator(std::string candidate, Ran& ran) : candidate_(std::move(candidate)), ran_(ran) {}
  void forward() override { ran_.candidate = candidate_; }
  void backward(GradientMode /*mode*/) override {}

 private:
  std::string candidate_;
  Ran& ran_;
};

class FakePlan final : public OperatorPlan {
 public:
  FakePlan(std::string candidate, Ran& ran) : candidate_(std::move(candidate)), ran_(ran) {}
  [[nodiscard]] std::string description() const override { return candidate_; }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& /*bindings*/) const override {
    return std::make_unique<FakeOperator>(candidate_, ran_);
  }

 private:
  std::string candidate_;
  Ran& ran_;
};

/// A machine on which each candidate takes its seconds, times what `disturbance` says of the step.
class FakeBackend final : public KernelBackend {
 public:
  FakeBackend(std::vector<std::string> names, std::map<std::string, double> seconds)
      : names_(std::move(names)), seconds_(std::move(seconds)) {}

  [[nodiscard]] Device& device() const override { return reference_.device(); }
  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] std::string fingerprint() const override { return "fake"; }
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& /*spec*/) const override {
    ++listings_;
    return names_;
  }
  [[nodiscard]] std::string safest_candidate(const OperatorSpec& /*spec*/) const override {
    return names_.front();
  }
  [[nodiscard]] bool has_candidate(const OperatorSpec& /*spec*/,
                                   std::string_view candidate) const override {
    return std::ranges::any_of(names_, [&](const auto& name) { return name == candidate; });
  }
  [[nodiscard]] std::unique_ptr<OperatorPlan> plan(const OperatorSpec& /*spec*/,
                                                   std::string_view candidate) const override {
    return std::make_unique<FakePlan>(std::string(candidate), ran_);
  }
  [[nodiscard]] std::unique_ptr<Optimizer> plan_optimizer(
      const OptimizerSpec& spec, const OptimizerArenas& arenas,
      const std::vector<OwnedRange>& owned) const override {
    return reference_.plan_optimizer(spec, arenas, owned);
  }
  [[nodiscard]] std::unique_ptr<ArenaPasses> plan_arena_passes(
      std::span<float> gradients, const std::vector<OwnedRange>& owned) const override {
    return reference_.plan_arena_passes(gradients, owned);
  }
  [[nodiscard]] double seconds_of(FunctionRef<void()> work, const Clock& /*clock*/) const override {
    work();
    const double taken = seconds_.at(ran_.candidate) * disturbance(steps_++);
    spent_ += taken;
    return taken;
  }

  std::function<double(std::uint64_t)> disturbance = [](std::uint64_t) { return 1.0; };
  [[nodiscard]] double spent() const { return spent_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// How often all candidates were asked for.
  [[nodiscard]] int listings() const { return listings_; }

 private:
  mutable int listings_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, double> seconds_;
  ReferenceBackend reference_;
  mutable Ran ran_;
  mutable std::uint64_t steps_ = 0;
  mutable double spent_ = 0;
};

OperatorSpec some_spec() { return ReluSpec{.tensor = {.shape = Shape({1, 1})}}; }

std::string chosen_by(const FakeBackend& backend, const Choices& known = {}) {
  const SteadyClock clock;
  const Choices choices = choose(backend, {some_spec()}, known, clock, [] { return true; });
  return choices.at(key_of(some_spec()));
}

/// Steps of 50 ms, most of them slowed a little and one in ten up to three times.
std::function<double(std::uint64_t)> busy_machine(std::uint64_t seed) {
  return [seed](std::uint64_t step) {
    const CounterRandom random(seed, step);
    const double little = random.uniform(0, 0.0F, 0.04F);
    const bool hit = random.uniform(1, 0.0F, 1.0F) < 0.1F;
    return 1 + little + (hit ? random.uniform(2, 0.0F, 2.0F) : 0.0F);
  };
}

}  // namespace

TEST_CASE("the fastest candidate is chosen, word by word", "[kernels]") {
  const FakeBackend backend({"batch fast=no", "batch fast=yes", "single"},
                            {{"batch fast=no", 0.02}, {"batch fast=yes", 0.01}, {"single", 0.03}});
  CHECK(chosen_by(backend) == "batch fast=yes");
}

TEST_CASE("among candidates that are alike the first one is chosen", "[kernels]") {
  for (const double other : {1.0, 0.98, 0.96})
    CHECK(chosen_by(FakeBackend({"a", "b"}, {{"a", 0.05}, {"b", 0.05 * other}})) == "a");
  CHECK(chosen_by(FakeBackend({"a", "b"}, {{"a", 0.05}, {"b", 0.05 * 0.9}})) == "b");
}

TEST_CASE("a busy machine chooses what a quiet one does", "[kernels]") {
  struct Field {
    double other;
    std::string best;
  };
  const auto field =
      GENERATE(values<Field>({{1.5, "a"}, {1.1, "a"}, {1.0, "a"}, {0.85, "b"}, {0.6, "b"}}));
  constexpr int kSeeds = 200;
  int right = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    FakeBackend backend({"a", "b"}, {{"a", 0.03}, {"b", 0.03 * field.other}});
    backend.disturbance = busy_machine(seed);
    if (chosen_by(backend) == field.best) ++right;
  }
  CAPTURE(field.other);
  CHECK(right >= 0.98 * kSeeds);
}

TEST_CASE("a machine that slows down for a while does not decide", "[kernels]") {
  for (std::uint64_t begin = 0; begin < 12; ++begin) {
    FakeBackend backend({"a", "b"}, {{"a", 0.03}, {"b", 0.0255}});
    backend.disturbance = [begin](std::uint64_t step) {
      return step >= begin && step < begin + 4 ? 2.0 : 1.0;
    };
    CAPTURE(begin);
    CHECK(chosen_by(backend) == "b");
  }
}

TEST_CASE("candidates that are hopeless take little time", "[kernels]") {
  const FakeBackend hopeless({"a", "b"}, {{"a", 0.1}, {"b", 10}});
  CHECK(chosen_by(hopeless) == "a");
  CHECK(hopeless.steps() <= 3);
  const FakeBackend near({"a", "b"}, {{"a", 0.1}, {"b", 0.0999}});
  CHECK(chosen_by(near) == "a");
  CHECK(near.spent() < 1);
}

TEST_CASE("a known choice is kept unless nobody knows the candidate", "[kernels]") {
  const FakeBackend backend({"a", "b"}, {{"a", 0.01}, {"b", 0.02}});
  const std::string key = key_of(some_spec());
  CHECK(chosen_by(backend, {{key, "b"}}) == "b");
  const Choices known{{key, "magic"}, {"of another", "c"}};
  CHECK(without_unknown_candidates(backend, {some_spec()}, known) == Choices{{"of another", "c"}});
  CHECK(without_unknown_candidates(backend, {some_spec()}, {{key, "b"}}) == Choices{{key, "b"}});
}

TEST_CASE("who waits is told how many operators are through", "[kernels]") {
  const FakeBackend backend({"a", "b"}, {{"a", 0.01}, {"b", 0.02}});
  std::vector<OperatorSpec> specs;
  for (const Size rows : {1, 2, 3, 1})  // the last one is the first
    specs.emplace_back(ReluSpec{.tensor = {.shape = Shape({rows, 1})}});
  const SteadyClock clock;
  std::vector<std::pair<Size, Size>> told;
  const Choices known{{key_of(specs[1]), "b"}};
  const Choices choices = choose(
      backend, specs, known, clock, [] { return true; },
      [&](Size done, Size total) { told.emplace_back(done, total); });
  CHECK(choices.size() == 3);
  CHECK(told == std::vector<std::pair<Size, Size>>{{0, 2}, {1, 2}});
}

TEST_CASE("a guess is what is known, and the safest bet otherwise, without timing", "[kernels]") {
  const FakeBackend backend({"a", "b"}, {{"a", 0.02}, {"b", 0.01}});
  const std::string key = key_of(some_spec());
  CHECK(guess(backend, {some_spec()}, {}) == Choices{{key, "a"}});
  CHECK(guess(backend, {some_spec()}, {{key, "b"}}) == Choices{{key, "b"}});
  CHECK(backend.steps() == 0);
}

TEST_CASE("candidates that are neither tried nor chosen are not prepared", "[kernels]") {
  const FakeBackend backend({"a", "b"}, {{"a", 0.02}, {"b", 0.01}});
  const Choices known{{key_of(some_spec()), "b"}};
  CHECK(without_unknown_candidates(backend, {some_spec()}, known) == known);
  CHECK(chosen_by(backend, known) == "b");
  CHECK(guess(backend, {some_spec()}, known) == known);
  CHECK(guess(backend, {some_spec()}, {}) == Choices{{key_of(some_spec()), "a"}});
  CHECK(backend.listings() == 0);
  CHECK(chosen_by(backend) == "b");
  CHECK(backend.listings() == 1);
}

}  // namespace ptbench
