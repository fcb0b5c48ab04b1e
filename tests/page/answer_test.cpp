#include "page/answer.h"

#include <catch2/catch.hpp>

#include "tests/page/page_records.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using testing::measured_run;
using testing::page_file;
using testing::troubled;

Answer only_answer(const ResultFile& file) {
  const std::vector<Answer> answers = answers_of({&file, 1});
  REQUIRE(answers.size() == 1);
  return answers.front();
}

}  // namespace

TEST_CASE("a clean sweep has a winner, an efficiency and a largest loss", "[page]") {
  const Answer answer = only_answer(testing::good_sweep());
  CHECK(answer.fastest == "ddp on 2 ranks");
  CHECK_THAT(answer.sentence,
             StartsWith("ddp on 2 ranks is the fastest of 3 runs: 18.0 k samples/s "
                        "± 0.4 %, 1.29 ± "));
  CHECK_THAT(answer.sentence, Contains("times as fast as the next, dp on 2 ranks."));
  CHECK(answer.speed == "18.0 k samples/s ± 0.4 %");
  CHECK(answer.efficiency == "90.0 ± 1.0 %");
  CHECK(answer.efficiency_of == "ddp on 2 ranks in weak scaling, against mlp/serial/n1/b64/fp32");
  CHECK(answer.is_efficiency_told);
  CHECK(answer.loss == "communication: 6.0 %");
  CHECK_THAT(answer.loss_advice, StartsWith("10.0 % lost, most of it to communication (6.0 %): "));
  CHECK(answer.reliability == "reliable to ± 0.4 %");
  CHECK(answer.is_reliable);
  CHECK(answer.beside.empty());
}

TEST_CASE("noise is not sold", "[page]") {
  const Answer answer = only_answer(testing::noisy_sweep());
  CHECK(answer.fastest.empty());
  CHECK_THAT(answer.sentence, StartsWith("Which run is the fastest cannot be said: none of 3 has 3 "
                                         "clean repetitions."));
  CHECK_THAT(answer.sentence, Contains("not reliable: 0 of 5 repetitions clean"));
  CHECK(answer.loss.empty());
  CHECK_FALSE(answer.is_reliable);
  CHECK_FALSE(answer.is_efficiency_told);
  CHECK_THAT(answer.efficiency_of, Contains("not reliable: 0 of 5 repetitions clean"));
  CHECK_THAT(answer.reliability_note, StartsWith("0 of 3 measured runs"));
}

TEST_CASE("runs that noise does not tell apart share the first place", "[page]") {
  const Answer answer = only_answer(
      page_file({measured_run({.throughput = 10'000, .noise = 0.03}),
                 measured_run({.strategy = "amp", .throughput = 10'100, .noise = 0.03})}));
  CHECK(answer.fastest == "amp or serial");
  CHECK(answer.sentence ==
        "amp is the fastest of 2 runs, but within the noise of serial: 10.1 k samples/s ± 3 %.");
}

TEST_CASE("a faster run that is not reliable does not win, but is told", "[page]") {
  const Answer answer = only_answer(page_file(
      {measured_run({}), measured_run({.strategy = "amp", .throughput = 30'000, .clean = 0})}));
  CHECK(answer.fastest == "serial");
  CHECK(answer.beside ==
        "A higher throughput, 30.0 k samples/s by amp, is not reliable: 0 of 5 repetitions clean.");
}

TEST_CASE("a throughput may be noisy where the order of runs is not", "[page]") {
  const Answer answer = only_answer(
      page_file({measured_run({.throughput = 10'000, .noise = 0.08}),
                 measured_run({.strategy = "amp", .throughput = 30'000, .noise = 0.08})}));
  CHECK(answer.fastest == "amp");
  CHECK_THAT(answer.sentence, Contains("(not reliable: ± 8 %, 5 of 5 repetitions clean)"));
  CHECK_FALSE(answer.is_reliable);
}

TEST_CASE("runs of one strategy are told apart by what differs", "[page]") {
  RunRecord other = measured_run({.throughput = 20'000});
  other.id += "/threads=2";
  other.strategy.threads = 2;
  const Answer answer = only_answer(page_file({measured_run({}), other}));
  CHECK(answer.fastest == "serial on both cores");
  other.strategy.threads = 4;
  CHECK(only_answer(page_file({measured_run({}), other})).fastest == "serial (4 threads)");
}

TEST_CASE("the efficiency is doubted where its row is not reliable", "[page]") {
  ResultFile file = testing::good_sweep();
  SECTION("by too wide an interval") {
    RunRecord& ddp = file.runs[1];
    ddp.throughput.ci95 = Interval{9'000, 36'000};
    ddp.scaling->efficiency_ci95 = Interval{0.45, 1.8};
    const Answer answer = only_answer(file);
    CHECK_FALSE(answer.is_efficiency_told);
    CHECK(answer.efficiency == "45.0 to 180.0 %");
    CHECK_THAT(answer.efficiency_of,
               Contains("; not known well; not reliable: -50 % to +100 %, 5 of 5"));
    CHECK(answer.speed == "9.00 k to 36.0 k samples/s");
    CHECK(answer.reliability == "not reliable: -50 % to +100 %, 5 of 5 repetitions clean");
  }
  SECTION("by its baseline") {
    file.runs[0].throughput.ci95 = Interval{9'000, 11'000};
    CHECK_FALSE(only_answer(file).is_efficiency_told);
    CHECK(only_answer(file).efficiency == "90.0 ± 1.0 %");
  }
}

TEST_CASE("runs that failed have a reason in the place of figures", "[page]") {
  const Answer answer = only_answer(page_file(
      {troubled(measured_run({}), Status::failed, "out of memory"),
       troubled(measured_run({.strategy = "dp", .ranks = 2}), Status::skipped, "needs 2 cores")}));
  CHECK(answer.sentence == "Nothing was measured: 1 run failed, 1 run was skipped.");
  CHECK(answer.beside == "mlp/serial/n1/b64/fp32: out of memory");
  CHECK(answer.fastest.empty());
  CHECK_FALSE(answer.is_reliable);
}

TEST_CASE("a run that computes something else has no throughput", "[page]") {
  RunRecord wrong = measured_run({.strategy = "ddp", .ranks = 2, .throughput = 90'000});
  wrong.verification.status = VerificationStatus::failed;
  const Answer answer = only_answer(page_file({measured_run({}), wrong}));
  CHECK(answer.fastest == "serial");
}

TEST_CASE("one run is no race", "[page]") {
  const Answer answer = only_answer(page_file({measured_run({})}));
  CHECK(answer.sentence == "serial trains 10.0 k samples/s ± 0.4 %.");
  CHECK(answer.efficiency.empty());
  CHECK_THAT(answer.efficiency_of, Contains("ptbench sweep"));
}

TEST_CASE("of equal ids the newest counts, and hosts do not race", "[page]") {
  ResultFile before = page_file({measured_run({})});
  ResultFile after = page_file({measured_run({.throughput = 11'000})});
  after.created = "2026-11-24T00:00:00Z";
  const std::vector<ResultFile> files{after, before};
  const std::vector<Answer> answers = answers_of(files);
  REQUIRE(answers.size() == 1);
  CHECK_THAT(answers.front().sentence, StartsWith("serial trains 11.0 k"));
  before.environment.host.name = "other";
  CHECK(answers_of(std::vector{before, after}).size() == 2);
}

TEST_CASE("records of which nothing is known have an answer", "[page]") {
  RunRecord bare;
  CHECK_THAT(only_answer(page_file({bare})).sentence, StartsWith("Nothing was measured"));
  RunRecord half = measured_run({});
  half.throughput.ci95.reset();
  half.strategy.global_batch.reset();
  half.strategy.batch_per_replica.reset();
  half.samples.repetitions.clear();
  CHECK_THAT(only_answer(page_file({half, measured_run({.strategy = "dp"})})).sentence,
             StartsWith("dp trains 10.0 k"));
  CHECK(answers_of({}).empty());
}

}  // namespace ptbench
