// What holds for every format of the catalog.
#include "exports/catalog.h"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "src/base/text.h"
#include "tests/exports/example.h"
#include "tests/reports/comma_locale.h"
#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using Catch::Contains;
using testing::exported;
using testing::plain_run;
using testing::result_of;
using testing::sweep_result;

/// Everything that it may know is infinite or no number.
RunRecord absurd_run(const std::string& id) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RunRecord run = plain_run(id, 0.005);
  run.throughput = {.value = kNan, .ci95 = Interval{kNan, kInfinity}};
  run.step_seconds.ci95 = Interval{-kInfinity, kNan};
  run.optimizer.lr = kNan;
  run.optimizer.weight_decay = kInfinity;
  run.accuracy = AccuracyRecord{kNan, kNan};
  run.scaling = ScalingRecord{};
  run.scaling->speedup = kInfinity;
  run.scaling->efficiency = kNan;
  run.samples.slowdown = kNan;
  run.samples.step_seconds = {0.005, kNan, kInfinity};
  run.samples.repetitions = {
      {.median_seconds = kNan}, {.median_seconds = 0.005}, {.median_seconds = kInfinity}};
  run.samples.repetitions[1].started_unix_seconds = 1e300;
  run.samples.slices.push_back({});
  run.samples.slices.back().repetition = 1;
  run.samples.slices.back().count = std::numeric_limits<Size>::max();
  run.samples.steps_per_sample = std::numeric_limits<Size>::max();
  run.strategy.threads = std::numeric_limits<Size>::max();
  run.strategy.global_batch = std::numeric_limits<Size>::max();
  return run;
}

RunRecord measured_run(const std::string& id) {
  RunRecord run = plain_run(id, 0.005);
  run.throughput.value = 12800;
  return run;
}

bool tells_no_number(const std::string& text) {
  for (const char* word : {"nan", "NaN", "inf,", "inf}", "inf ", "Infinity", "1.#"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("each format of a sweep is as its golden file", "[exports]") {
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    CHECK(exported(exporter.name, {sweep_result()}) ==
          testing::golden(std::string(exporter.name) + ".golden"));
  }
}

TEST_CASE("exports do not depend on the locale", "[exports]") {
  const testing::CommaLocale locale;
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    CHECK(exported(exporter.name, {sweep_result()}) ==
          testing::golden(std::string(exporter.name) + ".golden"));
  }
}

TEST_CASE("rows of the catalog tell who reads what", "[exports]") {
  std::set<std::string_view> names;
  for (const Exporter& exporter : exporter_catalog()) {
    CHECK(names.insert(exporter.name).second);
    CHECK_FALSE(exporter.reader.empty());
    CHECK_FALSE(exporter.summary.empty());
    CHECK(&find_exporter(exporter.name) == &exporter);
  }
  CHECK(exporter_names().size() == names.size());
}

TEST_CASE("an unknown format is refused with a suggestion", "[exports]") {
  CHECK_THAT(testing::refusal_of([] { (void)find_exporter("gbnch"); }), Contains("gbench"));
}

TEST_CASE("no format tells what is no number", "[exports]") {
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    const std::string text =
        exported(exporter.name, {result_of({absurd_run("a"), measured_run("b")})});
    INFO(text);
    CHECK_FALSE(tells_no_number(text));
  }
}

TEST_CASE("no format lets control characters of names through", "[exports]") {
  RunRecord run = measured_run("a\x1b[31m\r\n\x7f\xc2\x9b");
  run.workload.name = run.id;
  run.status = Status::interrupted;
  NamedResult named = result_of({run});
  named.result.environment.host.name = run.id;
  named.file = run.id;
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    std::string text = exported(exporter.name, {named});
    std::erase(text, '\n');
    CHECK(single_line(text) == text);
    CHECK(valid_utf8(text) == text);
  }
}

TEST_CASE("results without a run are refused by every format", "[exports]") {
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    CHECK_THAT(testing::refusal_of([&] { (void)exported(exporter.name, {result_of({})}); }),
               Contains("results.json") && Contains("no run"));
  }
}

TEST_CASE("where a format tells figures alone, one run must have some", "[exports]") {
  RunRecord run = plain_run("mlp/ddp/n4", 0);
  run.status = Status::failed;
  run.reason = "rank 1 died";
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    const auto write = [&] { return exported(exporter.name, {result_of({run})}); };
    if (exporter.measured_only)
      CHECK_THAT(testing::refusal_of([&] { (void)write(); }), Contains("no run has figures") &&
                                                                  Contains("mlp/ddp/n4") &&
                                                                  Contains("rank 1 died"));
    else
      CHECK_THAT(write(), Contains("rank 1 died"));
  }
}

TEST_CASE("runs without figures are named where they are left out", "[exports]") {
  const std::vector<NamedResult> results{sweep_result()};
  const Export done = export_results(find_exporter("bmf"), results);
  REQUIRE(done.left_out.size() == 3);
  CHECK(done.left_out[0] == "mlp/ddp/n4/b16/fp32: failed: rank 1 died: killed by signal 9");
  CHECK_THAT(done.left_out[1], Contains("does not match serial training"));
  CHECK_THAT(done.left_out[2], Contains("skipped"));
  CHECK(export_results(find_exporter("gbench"), results).left_out.empty());
}

TEST_CASE("figures of a run that did not match serial training are told by no format",
          "[exports]") {
  RunRecord wrong = plain_run("wrong", 0.123456);
  wrong.throughput.value = 98765.4;
  wrong.verification.status = VerificationStatus::failed;  // whatever its own status says
  const NamedResult named = result_of({wrong, measured_run("right")});
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    const std::string text = exported(exporter.name, {named});
    if (exporter.name == "jsonl") continue;  // the record as it is, with its status
    CHECK_THAT(text, !Contains("98765") && !Contains("123456") && !Contains("98.8"));
  }
}

TEST_CASE("a name of two files is refused where the format could not tell them apart",
          "[exports]") {
  const std::vector<NamedResult> results{result_of({measured_run("a")}),
                                         result_of({measured_run("a")})};
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    const auto write = [&] { (void)exported(exporter.name, results); };
    if (exporter.names_once)
      CHECK_THAT(testing::refusal_of(write), Contains("run 'a'"));
    else
      CHECK_NOTHROW(write());
  }
}

TEST_CASE("ten thousand runs are exported", "[exports]") {
  std::vector<RunRecord> runs;
  for (int index = 0; index < 10'000; ++index)
    runs.push_back(measured_run("run " + std::to_string(index)));
  const std::vector<NamedResult> results{result_of(std::move(runs))};
  for (const Exporter& exporter : exporter_catalog()) {
    INFO(exporter.name);
    CHECK_THAT(exported(exporter.name, results), Contains("run 9999"));
  }
}

}  // namespace ptbench
