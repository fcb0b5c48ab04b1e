#include "strategies/verify.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/reference/reference_backend.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/training.h"
#include "tests/support/communicators.h"
#include "tests/support/recording_communicator.h"

namespace ptbench::testing {
namespace {

const VerificationBounds kBounds{.loss = 1e-5, .parameters = 1e-4};
constexpr Communicator::Timeout kPatience = std::chrono::seconds(60);

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

/// What each of three ranks is told, whose trainings `change` may tell apart.
std::vector<std::optional<Size>> differing(const Graph& graph,
                                           const std::function<void(Program&, Size rank)>& change) {
  const ReferenceBackend backend;
  std::vector<std::optional<Size>> answers(3);
  ThreadGroup(std::ssize(answers)).run([&](SharedMemoryCommunicator& shared) {
    Training training(backend, graph, {.micro_batch = 4, .step = {.optimizer = sgd()}});
    change(training.program(), shared.rank());
    answers[static_cast<std::size_t>(shared.rank())] =
        first_differing_rank(training.strategy(), shared, kPatience);
  });
  return answers;
}

TEST_CASE("the first rank with other parameters is known to all ranks", "[strategies]") {
  using Answers = std::vector<std::optional<Size>>;
  const auto from = [](Size first) {
    return [first](Program& program, Size rank) {
      float& last = program.parameters().back();
      if (rank >= first) last = std::nextafter(last, 1.0F);
    };
  };
  CHECK(differing(conv_graph(), from(3)) == Answers(3));
  CHECK(differing(conv_graph(), from(2)) == Answers(3, 2));
  CHECK(differing(conv_graph(), from(1)) == Answers(3, 1));
  CHECK(differing(conv_graph(), from(0)) == Answers(3));
}

TEST_CASE("running statistics are each rank's own", "[strategies]") {
  REQUIRE(conv_graph().has_batch_norm());
  const auto answers = differing(conv_graph(), [](Program& program, Size rank) {
    program.running_statistics().front() = static_cast<float>(rank);
  });
  CHECK(answers == std::vector<std::optional<Size>>(3));
}

TEST_CASE("ranks wait for each other's parameters within the timeout", "[strategies]") {
  Pair pair;
  RecordingCommunicator recording(2, 0, RecordingCommunicator::alike(2));
  CHECK(first_differing_rank(pair.tested.strategy(), recording, kPatience) == std::nullopt);
  for (const RecordedCall& call : recording.calls())
    if (call.name == "wait") CHECK(call.timeout == kPatience);
  CHECK(recording.outstanding() == 0);
  RecordingCommunicator alone(1);
  CHECK(first_differing_rank(pair.tested.strategy(), alone, kPatience) == std::nullopt);
  CHECK(alone.calls().empty());
}

TEST_CASE("a rank with other parameters fails at its step", "[strategies]") {
  Pair pair;
  const VerificationRecord record = verify(
      pair.tested.strategy(), pair.oracle.strategy(), kBounds, 5, always,
      [&] { return pair.tested.strategy().steps() == 3 ? std::optional<Size>(2) : std::nullopt; });
  CHECK(record.status == VerificationStatus::failed);
  CHECK(record.steps == 3);
  CHECK_FALSE(record.max_relative_error.has_value());
  CHECK(record.reason == "after step 3 the parameters of rank 2 differ from rank 0's");
}

}  // namespace
}  // namespace ptbench::testing
