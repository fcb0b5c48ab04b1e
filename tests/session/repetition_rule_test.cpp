#include "app/session/repetition_rule.h"

#include <catch2/catch.hpp>

#include "src/base/error.h"

namespace ptbench {
namespace {

RunOptions options_of(std::optional<Size> repeats, std::optional<double> noise) {
  RunOptions options;
  options.repeats = repeats;
  options.target_noise = noise;
  return options;
}

std::string refused_rule(const RunOptions& options) {
  try {
    require_possible_repeats(options);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("five repetitions are usual, and more until they are precise") {
  const RepetitionRule rule{RunOptions{}};
  CHECK(rule.least() == 5);
  CHECK(rule.target_noise() == 0.01);
  CHECK(rule.repetition_seconds() == 6);
  CHECK(rule.least_seconds() == Approx(0.4));
  CHECK(rule.wants_another(4, true, 8));  // precision may be luck so early
  CHECK_FALSE(rule.wants_another(5, true, 10));
  CHECK(rule.wants_another(5, false, 10));
  CHECK(rule.wants_another(9, false, 18));
  CHECK(rule.stop_reason(9, true) == StopReason::noise);
  CHECK(rule.stop_reason(9, false) == StopReason::max_time);
}

TEST_CASE("a number of repetitions without a precision is exact") {
  const RepetitionRule rule(options_of(3, std::nullopt));
  CHECK(rule.repetition_seconds() == 10);
  CHECK(rule.wants_another(2, true, 4));
  CHECK_FALSE(rule.wants_another(3, false, 6));
  CHECK(rule.stop_reason(3, true) == StopReason::noise);
  CHECK(rule.stop_reason(3, false) == std::nullopt);
  CHECK(rule.stop_reason(2, false) == StopReason::max_time);
}

TEST_CASE("a number of repetitions with a precision is the least") {
  const RepetitionRule rule(options_of(2, 0.05));
  CHECK(rule.target_noise() == 0.05);
  CHECK(rule.wants_another(1, true, 2));
  CHECK(rule.wants_another(2, false, 4));
  CHECK_FALSE(rule.wants_another(2, true, 4));
}

TEST_CASE("no repetition is begun that would not end in time") {
  const RepetitionRule rule{RunOptions{}};
  CHECK(rule.wants_another(6, false, 25));
  CHECK_FALSE(rule.wants_another(6, false, 26));
  CHECK_FALSE(rule.wants_another(1, false, 31));
}

TEST_CASE("repetitions that were promised may be shorter than those before") {
  const RepetitionRule rule{RunOptions{}};
  CHECK(rule.wants_another(4, false, 27));  // four of 6.75 s; the fifth shall be shorter
  CHECK_FALSE(rule.wants_another(4, false, 29));
}

TEST_CASE("repetitions are counted as far as they were promised") {
  const RepetitionRule rule{RunOptions{}};
  CHECK(rule.label(0) == "repetition 1 of 5");
  CHECK(rule.label(4) == "repetition 5 of 5");
  CHECK(rule.label(5) == "repetition 6");
}

TEST_CASE("one process measures what has a fixed length, and what is one repetition or none") {
  CHECK_FALSE(is_one_process(RunOptions{}));
  CHECK_FALSE(is_one_process(options_of(2, std::nullopt)));
  CHECK_FALSE(is_one_process(options_of(1, 0.01)));
  CHECK(is_one_process(options_of(1, std::nullopt)));
  RunOptions options;
  options.steps = 3;
  CHECK(is_one_process(options));
  options = {};
  options.epochs = 3;
  CHECK(is_one_process(options));
  options = {};
  options.verify = VerifyMode::only;
  CHECK(is_one_process(options));
  options = {};
  options.orders.pass = RunPass::next;
  CHECK(is_one_process(options));
}

TEST_CASE("a run of fixed length is not repeated") {
  RunOptions options = options_of(2, std::nullopt);
  options.steps = 10;
  CHECK_THAT(refused_rule(options), Catch::Contains("--repeats 2 with --steps"));
  options.repeats = 1;
  CHECK(refused_rule(options).empty());
  options = options_of(std::nullopt, 0.01);
  CHECK(refused_rule(options).empty());
  options.epochs = 3;
  CHECK_THAT(refused_rule(options), Catch::Contains("--target-noise with --epochs"));
}

}  // namespace ptbench
