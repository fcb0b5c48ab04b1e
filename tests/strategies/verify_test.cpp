#include "strategies/verify.h"

#include <catch2/catch.hpp>
#include <limits>

#include "kernels/reference/reference_backend.h"
#include "tests/strategies/training.h"

namespace ptbench::testing {
namespace {

const VerificationBounds kBounds{.loss = 1e-5, .parameters = 1e-4};

bool always() { return true; }

/// Two trainings of the same linear model on the same data.
struct Pair {
  ReferenceBackend backend;
  Workload workload = find_workload("linear");
  TrainingSpec spec{.micro_batch = 8, .step = {.optimizer = {.lr = 0.01}}};
  Training tested{backend, workload, spec};
  Training oracle{backend, workload, spec};

  /// Changes the first weight of one side.
  static void change(Training& training, float value) {
    auto tensors = training.program().export_tensors();
    tensors[0].values[0] = value;
    training.program().import_tensors(tensors);
  }
};

TEST_CASE("equal trainings pass, and the record says how far they went", "[strategies]") {
  Pair pair;
  const VerificationRecord record =
      verify(pair.tested.strategy(), pair.oracle.strategy(), kBounds, 5, always);
  CHECK(record.status == VerificationStatus::passed);
  CHECK(record.steps == 5);
  CHECK(record.max_relative_error == 0.0);
  CHECK(record.tolerance == 1e-5);
}

TEST_CASE("another loss fails at its step", "[strategies]") {
  Pair pair;
  Pair::change(pair.tested, 3);
  const VerificationRecord record =
      verify(pair.tested.strategy(), pair.oracle.strategy(), kBounds, 5, always);
  CHECK(record.status == VerificationStatus::failed);
  CHECK(record.steps == 1);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("loss of step 1"));
}

TEST_CASE("another weight fails even where no loss shows it", "[strategies]") {
  Pair pair;
  Pair::change(pair.tested, 3);
  const VerificationBounds blind{.loss = 1e3, .parameters = 1e-4};
  const VerificationRecord record =
      verify(pair.tested.strategy(), pair.oracle.strategy(), blind, 2, always);
  CHECK(record.status == VerificationStatus::failed);
  CHECK(record.worst_tensor == "fc.weight");
  CHECK(*record.max_relative_error > blind.loss);
  CHECK_THAT(record.reason.value_or(""), Catch::Contains("fc.weight"));
}

TEST_CASE("what is not a number never passes", "[strategies]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Pair tested;
  Pair::change(tested.tested, kNan);
  const VerificationRecord wrong =
      verify(tested.tested.strategy(), tested.oracle.strategy(), kBounds, 2, always);
  CHECK(wrong.status == VerificationStatus::failed);
  CHECK_FALSE(wrong.max_relative_error.has_value());
  Pair both;
  Pair::change(both.tested, kNan);
  Pair::change(both.oracle, kNan);
  const VerificationRecord diverged =
      verify(both.tested.strategy(), both.oracle.strategy(), kBounds, 2, always);
  CHECK(diverged.status == VerificationStatus::failed);
  CHECK_THAT(diverged.reason.value_or(""), Catch::Contains("diverges"));
}

TEST_CASE("verification ends when it is told to, after a step", "[strategies]") {
  Pair pair;
  const VerificationRecord record =
      verify(pair.tested.strategy(), pair.oracle.strategy(), kBounds, 30, [] { return false; });
  CHECK(record.steps == 1);
}

}  // namespace
}  // namespace ptbench::testing
