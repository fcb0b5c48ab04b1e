#include "src/judge/comparison.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "src/judge/log_change.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::Moving;
using testing::Noisy;
using testing::NormalNumbers;
using testing::Process;
using testing::run_of;
using testing::run_of_seconds;
using testing::simulate_file;

ResultFile file_of(std::vector<RunRecord> runs) {
  ResultFile file;
  file.environment.cpu.model = "CPU";
  file.environment.cpu.cores = 2;
  file.runs = std::move(runs);
  return file;
}

Comparison compare_files(const ResultFile& base, const ResultFile& fresh,
                         const CompareOptions& options = {}, const PriorNoise& prior = {}) {
  return compare({&base, 1}, {&fresh, 1}, options, prior);
}

/// Compares two runs of equal id.
RunComparison compare_two(const RunRecord& base, const RunRecord& fresh,
                          const CompareOptions& options = {}, const PriorNoise& prior = {}) {
  const Comparison comparison = compare_files(file_of({base}), file_of({fresh}), options, prior);
  REQUIRE(comparison.runs.size() == 1);
  return comparison.runs[0];
}

/// Three equal repetitions.
RunRecord steady(double seconds, std::string id = "run") {
  RunRecord run = run_of_seconds({seconds, seconds, seconds});
  run.id = std::move(id);
  return run;
}

RunRecord with_status(Status status, std::string reason, std::string id = "run") {
  RunRecord run;
  run.id = std::move(id);
  run.status = status;
  run.reason = std::move(reason);
  return run;
}

Size count(const Comparison& comparison, Verdict verdict) {
  return std::ranges::count(comparison.runs, verdict, &RunComparison::verdict);
}

PriorNoise prior_of(double near) {
  PriorNoise prior;
  prior.learn("near", {.standard_deviation = near, .degrees_of_freedom = 50});
  return prior;
}

/// Processes of these step times that began every ten seconds from `started` on.
RunRecord started_at(double started, const std::vector<double>& seconds) {
  std::vector<Process> processes;
  for (const double value : seconds) {
    processes.push_back({.seconds = value, .started = started});
    started += 10;
  }
  return run_of(processes);
}

constexpr auto kRegression = ExitCode::regression;

}  // namespace

TEST_CASE("runs that follow each other differ by more than their repetitions tell", "[measure]") {
  const std::vector<double> six{0.006, 0.00601, 0.00599, 0.006, 0.00601};
  const auto slower_by = [&](double share) {
    std::vector<double> seconds;
    for (const double value : six) seconds.push_back((1 + share) * value);
    return seconds;
  };
  const RunRecord base = started_at(1e9, six);
  // They differ by the unlearnt s0 of 1 % besides: by up to 2.58 times as much in 99 of 100.
  const RunComparison later = compare_two(base, started_at(1e9 + 100, slower_by(0.027)));
  CHECK(later.verdict == Verdict::ambiguous);
  CHECK(later.change_ci99->low == Approx(-0.003).margin(0.003));
  CHECK(compare_two(base, started_at(1e9 - 100, slower_by(0.027))).verdict == Verdict::ambiguous);
  CHECK(compare_two(base, started_at(1e9 + 100, slower_by(0.04))).verdict == Verdict::slower);
  CHECK(compare_two(base, started_at(1e9 + 100, six)).verdict == Verdict::same);
  // In turn they share the time; and where s0 is known to be small, so is what runs differ by.
  CHECK(compare_two(base, started_at(1e9 + 5, slower_by(0.027))).verdict == Verdict::slower);
  CHECK(compare_two(base, started_at(1e9 + 100, slower_by(0.027)), {}, prior_of(0.003)).verdict ==
        Verdict::slower);
}

TEST_CASE("the change of a run and its interval, by hand", "[measure]") {
  // Squares of the logarithms: 2 · 0.01² on either side.
  const auto run_about = [](double seconds) {
    return run_of_seconds({seconds * std::exp(-0.01), seconds, seconds * std::exp(0.01)});
  };
  const RunComparison run = compare_two(run_about(0.006), run_about(0.0066));
  const double s = std::sqrt((10e-4 + 4e-4) / 14);
  const double half = 2.97684 * s * std::sqrt(2.0 / 3);  // t(0.995, 14)
  CHECK(run.verdict == Verdict::slower);
  CHECK(run.reason.empty());
  CHECK(run.base_seconds.value() == Approx(0.006));
  CHECK(run.new_seconds.value() == Approx(0.0066));
  CHECK(run.change.value() == Approx(0.1));
  CHECK(run.change_ci99->low == Approx(1.1 * std::exp(-half) - 1).epsilon(1e-5));
  CHECK(run.change_ci99->high == Approx(1.1 * std::exp(half) - 1).epsilon(1e-5));
  CHECK(run.base_repetitions == 3);
  CHECK(run.new_repetitions == 3);
}

TEST_CASE("verdicts follow from the change and its interval", "[measure]") {
  const auto verdict = [](double estimate, double half_width) {
    LogChange change;
    change.estimate = estimate;
    change.half_width = half_width;
    return verdict_of(change, 0.05);
  };
  CHECK(verdict(0.026, 0.025) == Verdict::slower);
  CHECK(verdict(-0.026, 0.025) == Verdict::faster);
  CHECK(verdict(0.026, 0.027) == Verdict::ambiguous);
  CHECK(verdict(0.024, 0.001) == Verdict::same);
  CHECK(verdict(0.024, 0.025) == Verdict::same);
  CHECK(verdict(-0.024, 0.027) == Verdict::ambiguous);
  CHECK(verdict(0, 0.049) == Verdict::same);
  CHECK(verdict(0, 0.051) == Verdict::ambiguous);
}

TEST_CASE("placements are combined by what each of them knows", "[measure]") {
  RunRecord base = steady(0.006);
  RunRecord fresh = steady(0.006 * std::exp(0.02));
  for (int repetition = 0; repetition < 6; ++repetition) {
    testing::add_process({.seconds = 0.008, .placement = "far"}, base.samples);
    testing::add_process({.seconds = 0.008, .placement = "far"}, fresh.samples);
  }
  const RunComparison run = compare_two(base, fresh);
  // s² = 10e-4 / 14 near, 10e-4 / 20 far; variances s² · 2 / 3 and s² · 2 / 6.
  const double near = 1 / (10e-4 / 14 * 2 / 3);
  const double far = 1 / (10e-4 / 20 * 2 / 6);
  const double weight = near / (near + far);
  CHECK(std::log1p(run.change.value()) == Approx(weight * 0.02));
  const double degrees = 1 / (weight * weight / 14 + (1 - weight) * (1 - weight) / 20);
  const double half = t_quantile(0.995, degrees) / std::sqrt(near + far);
  CHECK(std::log1p(run.change_ci99->high) == Approx(weight * 0.02 + half));
  CHECK(run.base_seconds.value() == Approx(0.008));
  CHECK(run.base_repetitions == 9);
}

TEST_CASE("a placement with too few repetitions on one side counts for nothing", "[measure]") {
  RunRecord base = steady(0.006);
  RunRecord fresh = steady(0.006);
  for (int repetition = 0; repetition < 5; ++repetition)
    testing::add_process({.seconds = 0.008, .placement = "far"}, base.samples);
  testing::add_process({.seconds = 0.016, .placement = "far"}, fresh.samples);
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::same);
  CHECK(run.change.value() == Approx(0).margin(1e-12));
  CHECK(run.base_seconds.value() == Approx(0.006));
}

TEST_CASE("unclean repetitions count for nothing", "[measure]") {
  RunRecord fresh = steady(0.006);
  for (int repetition = 0; repetition < 5; ++repetition)
    testing::add_process({.seconds = 0.06, .clean = false}, fresh.samples);
  CHECK(compare_two(steady(0.006), fresh).verdict == Verdict::same);
}

TEST_CASE("equal programs are hardly ever told apart", "[measure]") {
  NormalNumbers normal(2);
  const Noisy noisy{.deviation = 0.006, .repetitions = 3};
  const ResultFile base = simulate_file(noisy, 1000, normal);
  const ResultFile fresh = simulate_file(noisy, 1000, normal);
  for (const double prior : {0.006, PriorNoise::kUnlearnt}) {
    const Comparison comparison = compare_files(base, fresh, {}, prior_of(prior));
    CHECK(count(comparison, Verdict::slower) + count(comparison, Verdict::faster) <= 10);
    CHECK(count(comparison, Verdict::same) >= 950);
  }
}

TEST_CASE("two placements that are too few each are enough together", "[measure]") {
  NormalNumbers normal(5);
  const ResultFile base = simulate_file(Moving{.near = 3, .far = 2}, 1000, normal);
  const ResultFile same = simulate_file(Moving{.near = 2, .far = 3}, 1000, normal);
  const ResultFile slow =
      simulate_file(Moving{.seconds = 0.0063, .near = 2, .far = 3}, 1000, normal);
  const Comparison equal = compare_files(base, same, {}, {});
  CHECK(count(equal, Verdict::slower) + count(equal, Verdict::faster) <= 10);
  CHECK(count(equal, Verdict::ambiguous) <= 100);
  CHECK(count(compare_files(base, slow, {}, {}), Verdict::slower) >= 950);
}

TEST_CASE("a single repetition of a placement does not count", "[measure]") {
  NormalNumbers normal(6);
  const ResultFile base = simulate_file(Moving{.near = 4, .far = 1}, 10, normal);
  const ResultFile fresh = simulate_file(Moving{.near = 1, .far = 4}, 10, normal);
  CHECK(count(compare_files(base, fresh, {}, {}), Verdict::ambiguous) == 10);
}

TEST_CASE("a change of 5 % is found with three repetitions a side", "[measure]") {
  NormalNumbers normal(3);
  const ResultFile quick = simulate_file({.seconds = 0.006, .repetitions = 3}, 1000, normal);
  const ResultFile slow = simulate_file({.seconds = 0.0063, .repetitions = 3}, 1000, normal);
  for (const double prior : {0.006, PriorNoise::kUnlearnt}) {
    CHECK(count(compare_files(quick, slow, {}, prior_of(prior)), Verdict::slower) >= 950);
    CHECK(count(compare_files(slow, quick, {}, prior_of(prior)), Verdict::faster) >= 950);
  }
}

TEST_CASE("a change of 3 % is found with five repetitions a side", "[measure]") {
  NormalNumbers normal(4);
  const ResultFile base = simulate_file({.seconds = 0.006, .repetitions = 5}, 1000, normal);
  const ResultFile slow = simulate_file({.seconds = 0.00618, .repetitions = 5}, 1000, normal);
  const Comparison comparison = compare_files(base, slow, {.detect = 0.03}, prior_of(0.006));
  CHECK(count(comparison, Verdict::slower) >= 900);
  CHECK(count(comparison, Verdict::faster) == 0);
}

TEST_CASE("several files of a side are pooled", "[measure]") {
  const std::vector<ResultFile> base{file_of({run_of_seconds({0.006})}),
                                     file_of({run_of_seconds({0.006, 0.006})})};
  const std::vector<ResultFile> fresh{file_of({steady(0.0066), steady(1, "other")})};
  const Comparison comparison = compare(base, fresh, {}, {});
  REQUIRE(comparison.runs.size() == 2);
  CHECK(comparison.runs[0].verdict == Verdict::slower);
  CHECK(comparison.runs[0].base_repetitions == 3);
  CHECK(comparison.runs[1].verdict == Verdict::added);
}

TEST_CASE("runs are told in BASE's order, then what is new", "[measure]") {
  const Comparison comparison =
      compare_files(file_of({steady(0.006, "c"), steady(0.006, "a"), steady(0.006, "b")}),
                    file_of({steady(0.006, "d"), steady(0.006, "b"), steady(0.006, "c")}));
  std::vector<std::string> ids;
  for (const RunComparison& run : comparison.runs) ids.push_back(run.id);
  CHECK(ids == std::vector<std::string>{"c", "a", "b", "d"});
  CHECK(comparison.runs[1].verdict == Verdict::missing);
  CHECK(comparison.runs[1].base_seconds.value_or(0) >= 0);
  CHECK_FALSE(comparison.runs[1].new_seconds.has_value());
  CHECK(comparison.runs[1].reason.empty());
  CHECK(comparison.runs[3].verdict == Verdict::added);
  CHECK_FALSE(comparison.runs[3].base_seconds.has_value());
}

TEST_CASE("a run that failed in NEW has failed", "[measure]") {
  const RunRecord failed = with_status(Status::failed, "out of\nmemory");
  const RunComparison run = compare_two(steady(0.006), failed);
  CHECK(run.verdict == Verdict::failed);
  CHECK(run.reason == "out of\\x0amemory");
  CHECK(compare_two(failed, failed).verdict == Verdict::failed);
  CHECK(compare_files(file_of({}), file_of({failed})).runs[0].verdict == Verdict::failed);
}

TEST_CASE("a run that was not measured in NEW is missing, and it is said why", "[measure]") {
  const RunComparison skipped =
      compare_two(steady(0.006), with_status(Status::skipped, "3 ranks on 2 cores"));
  CHECK(skipped.verdict == Verdict::missing);
  CHECK(skipped.reason == "skipped in NEW: 3 ranks on 2 cores");
  RunRecord verified;
  verified.id = "run";
  CHECK(compare_two(steady(0.006), verified).reason == "NEW has no samples");
}

TEST_CASE("a run that was not measured in BASE is new, and it is said why", "[measure]") {
  const RunComparison run =
      compare_two(with_status(Status::failed, "out of memory"), steady(0.006));
  CHECK(run.verdict == Verdict::added);
  CHECK(run.reason == "failed in BASE: out of memory");
}

TEST_CASE("a file that failed takes no baseline away", "[measure]") {
  const RunRecord failed = with_status(Status::failed, "rank 1 died");
  const RunRecord interrupted = with_status(Status::interrupted, "by a signal");
  for (const RunRecord& lost : {failed, interrupted}) {
    const std::vector<ResultFile> base{file_of({lost}), file_of({steady(0.006)})};
    const ResultFile slow = file_of({steady(0.0066)});
    const Comparison comparison = compare(base, {&slow, 1}, {}, {});
    REQUIRE(comparison.runs.size() == 1);
    CHECK(comparison.runs[0].verdict == Verdict::slower);
    CHECK(comparison.runs[0].base_repetitions == 3);
  }
  const ResultFile good = file_of({steady(0.006)});
  const std::vector<ResultFile> fresh{file_of({failed}), good};
  CHECK(compare({&good, 1}, fresh, {}, {}).runs.at(0).verdict == Verdict::failed);
  CHECK(compare(fresh, fresh, {}, {}).runs.at(0).reason == "rank 1 died");
}

TEST_CASE("slowed sides and other builds are remarks that take no verdict away", "[measure]") {
  ResultFile base = file_of({steady(0.006)});
  base.generator.build_type = "Release";
  ResultFile fresh = file_of({steady(0.0066)});
  fresh.generator.build_type = "Release";
  CHECK(compare_files(base, fresh).remarks.empty());
  CHECK(compare_files(base, fresh).runs[0].remarks.empty());
  fresh.generator.build_type = "Debug\n";
  fresh.runs[0].samples.slowdown = 0.05;
  const Comparison comparison = compare_files(base, fresh);
  CHECK(comparison.remarks == std::vector<std::string>{"build_type Release / Debug\\x0a"});
  CHECK(comparison.differences.empty());
  CHECK(comparison.runs[0].remarks == std::vector<std::string>{"slowdown none / 5.00 %"});
  CHECK(comparison.runs[0].verdict == Verdict::slower);
  base.generator.build_type.reset();
  CHECK(compare_files(base, fresh).remarks ==
        std::vector<std::string>{"build_type not known / Debug\\x0a"});
  CHECK(compare_files(fresh, fresh).runs[0].remarks ==
        std::vector<std::string>{"slowdown 5.00 % / 5.00 %"});
  CHECK(compare_files(file_of({}), fresh).runs[0].remarks ==
        std::vector<std::string>{"slowdown none / 5.00 %"});
}

TEST_CASE("a run that was measured on neither side is left out", "[measure]") {
  const RunRecord skipped = with_status(Status::skipped, "3 ranks on 2 cores");
  CHECK(compare_files(file_of({skipped}), file_of({skipped})).runs.empty());
  CHECK(compare_files(file_of({skipped}), file_of({})).runs.empty());
}

TEST_CASE("what an interrupted run measured counts", "[measure]") {
  RunRecord interrupted = steady(0.006);
  interrupted.status = Status::interrupted;
  CHECK(compare_two(steady(0.006), interrupted).verdict == Verdict::same);
  CHECK(compare_two(steady(0.006), with_status(Status::interrupted, "by a signal")).verdict ==
        Verdict::missing);
}

TEST_CASE("too few clean repetitions are ambiguous, with what disturbed them", "[measure]") {
  const RunRecord base = steady(0.006);
  const Process good{.seconds = 0.006};
  const auto reason = [&](const std::vector<Process>& processes) {
    const RunComparison run = compare_two(base, run_of(processes));
    CHECK(run.verdict == Verdict::ambiguous);
    CHECK_FALSE(run.change.has_value());
    return run.reason;
  };
  const auto foreign = [](double fraction) {
    return Process{.seconds = 0.009, .clean = false, .foreign_cpu_fraction = fraction};
  };
  CHECK(reason({good, good, foreign(0.30), foreign(0.38)}) ==
        "2 clean repetitions of NEW near, 3 are needed: other programs used 34 % of the cores");
  CHECK(reason({foreign(0.5)}) ==
        "no clean repetition of NEW, 3 are needed: other programs used 50 % of the cores");
  CHECK(reason({good, {.clean = false, .steal_fraction = 0.032}}) ==
        "1 clean repetition of NEW near, 3 are needed: the hypervisor took 3.2 % of the cores' "
        "time");
  CHECK(reason({good, good, {.placement = "mixed", .clean = false}}) ==
        "2 clean repetitions of NEW near, 3 are needed: the cores were sometimes near and "
        "sometimes far");
  CHECK(reason({good, good}) == "2 clean repetitions of NEW near, 3 are needed");
  CHECK(reason({good, good, {.placement = "far"}, {.placement = "far"}}) ==
        "2 clean repetitions of NEW near, 3 are needed: 2 were far");
}

TEST_CASE("both sides may have too few clean repetitions", "[measure]") {
  const RunComparison run = compare_two(run_of_seconds({0.006, 0.006}), run_of_seconds({0.006}));
  CHECK(run.reason ==
        "2 clean repetitions of BASE near, 3 are needed; 1 clean repetition of NEW near, 3 are "
        "needed");
  CHECK(compare_two(run_of({{.clean = false}}), run_of({{.clean = false}})).reason ==
        "no clean repetition of BASE, 3 are needed; no clean repetition of NEW, 3 are needed");
}

TEST_CASE("repetitions on one core are called so", "[measure]") {
  const RunComparison run = compare_two(run_of_seconds({0.006, 0.006, 0.006}, std::nullopt),
                                        run_of_seconds({0.006, 0.006}, std::nullopt));
  CHECK(run.reason == "2 clean repetitions of NEW on one core, 3 are needed");
}

TEST_CASE("sides without a common placement are ambiguous", "[measure]") {
  RunRecord far = run_of_seconds({0.008, 0.008, 0.008}, "far");
  CHECK(compare_two(steady(0.006), far).reason == "no common placement: BASE near, NEW far");
}

TEST_CASE("runs of fixed length are ambiguous", "[measure]") {
  RunRecord fixed;
  fixed.id = "run";
  fixed.samples.step_seconds = {0.006, 0.006};
  CHECK(compare_two(fixed, steady(0.006)).reason ==
        "BASE has no repetitions: measure without --steps and --epochs");
  CHECK(compare_two(steady(0.006), fixed).reason ==
        "NEW has no repetitions: measure without --steps and --epochs");
  CHECK(compare_two(fixed, fixed).reason ==
        "BASE and NEW have no repetitions: measure without --steps and --epochs");
  RunRecord one = run_of_seconds({0.006});
  one.samples.stop_reason = StopReason::steps;
  CHECK(compare_two(steady(0.006), one).reason ==
        "1 clean repetition of NEW near, 3 are needed: measure without --steps and --epochs");
}

TEST_CASE("an unusual spread is ambiguous", "[measure]") {
  const RunRecord wild = run_of_seconds({0.006, 0.006 * std::exp(0.058), 0.006 * std::exp(-0.058)});
  const RunComparison run = compare_two(steady(0.006), wild);
  CHECK(run.verdict == Verdict::ambiguous);
  CHECK(run.reason == "run-to-run spread of 4.1 % is beyond what this machine usually has (1 %)");
  CHECK(run.change.has_value());
  // However large the change is.
  CHECK(compare_two(steady(0.002), wild).verdict == Verdict::ambiguous);
  CHECK(compare_two(steady(0.002), wild, {}, prior_of(0.02)).verdict == Verdict::slower);
}

TEST_CASE("an unusual placement leaves the verdict to the other", "[measure]") {
  RunRecord base = steady(0.006);
  RunRecord fresh = steady(0.006);
  for (const double seconds : {0.008, 0.010, 0.014}) {
    testing::add_process({.seconds = seconds, .placement = "far"}, base.samples);
    testing::add_process({.seconds = 2 * seconds, .placement = "far"}, fresh.samples);
  }
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::same);
  CHECK(run.change.value() == Approx(0).margin(1e-12));
}

TEST_CASE("a change that may be none, and one that may be too large, are ambiguous", "[measure]") {
  const RunComparison small =
      compare_two(steady(0.006), steady(0.006 * std::exp(0.012)), {.detect = 0.02}, prior_of(0.01));
  CHECK(small.verdict == Verdict::ambiguous);
  CHECK(small.reason ==
        "change of 1.2 % with a 99 % interval of -0.85 % to 3.3 %: there may be no change");
  const RunComparison none =
      compare_two(steady(0.006), steady(0.006), {.detect = 0.02}, prior_of(0.01));
  CHECK(none.verdict == Verdict::ambiguous);
  CHECK(none.reason == "change of 0 % with a 99 % interval of -2 % to 2.1 %: not within ±2 %");
}

TEST_CASE("unlike environments are incomparable unless they are ignored", "[measure]") {
  ResultFile base = file_of({steady(0.006)});
  base.environment.devices = {{.id = "cpu", .name = "CPU", .memory_bytes = 1}};
  base.environment.libraries = {{"onednn", "2.6.3"}};
  ResultFile fresh = base;
  SECTION("by model") {
    fresh.environment.cpu.model = "other\x1b";
    CHECK(compare_files(base, fresh).differences ==
          std::vector<std::string>{"cpu.model CPU / other\\x1b"});
  }
  SECTION("by cores") {
    fresh.environment.cpu.cores = 4;
    CHECK(compare_files(base, fresh).differences == std::vector<std::string>{"cpu.cores 2 / 4"});
  }
  SECTION("by a device") {
    fresh.environment.devices.push_back({.id = "cuda:0", .name = "GPU", .memory_bytes = {}});
    CHECK(compare_files(base, fresh).differences ==
          std::vector<std::string>{"devices.cuda:0 none / GPU"});
  }
  SECTION("by a library") {
    fresh.environment.libraries = {{"onednn", "3.0"}};
    CHECK(compare_files(base, fresh).differences ==
          std::vector<std::string>{"libraries.onednn 2.6.3 / 3.0"});
  }
  const Comparison comparison = compare_files(base, fresh);
  CHECK(comparison.runs[0].verdict == Verdict::incomparable);
  CHECK(comparison.runs[0].reason == "different environments: " + comparison.differences[0]);
  CHECK_FALSE(comparison.environment_ignored);
  CHECK(exit_code_of(comparison, false) == ExitCode::ok);
  CHECK(exit_code_of(comparison, true) == ExitCode::ambiguous);
  const Comparison ignored = compare_files(base, fresh, {.ignore_environment = true});
  CHECK(ignored.runs[0].verdict == Verdict::same);
  CHECK(ignored.environment_ignored);
  CHECK(ignored.differences.size() == 1);
}

TEST_CASE("host, system, commit and variables make no difference", "[measure]") {
  const ResultFile base = file_of({steady(0.006)});
  ResultFile fresh = base;
  fresh.environment.host = {.name = "other", .os = "other", .kernel = "other"};
  fresh.environment.variables = {{"OMP_NUM_THREADS", "2"}};
  fresh.generator.git_commit = "other";
  fresh.runs[0].samples.slowdown = 0.05;
  SECTION("nor does what one of them does not know") {
    fresh.environment.cpu = {};
    fresh.environment.libraries = {{"onednn", "3.0"}};
  }
  CHECK(compare_files(base, fresh).differences.empty());
  CHECK(compare_files(base, fresh).runs[0].verdict == Verdict::same);
}

TEST_CASE("runs under unlike circumstances are incomparable", "[measure]") {
  RunRecord base = steady(0.006);
  base.strategy.plan_hash = "a1";
  base.strategy.threads = 2;
  base.strategy.hosts = 1;
  base.strategy.devices = {"cpu", "cpu"};
  RunRecord fresh = base;
  CHECK(compare_two(base, fresh).differences.empty());
  fresh.strategy.plan_hash = "b2";
  fresh.strategy.threads = 1;
  fresh.strategy.hosts = 2;
  fresh.strategy.devices = {"cuda:0"};
  const RunComparison run = compare_two(base, fresh);
  CHECK(run.verdict == Verdict::incomparable);
  CHECK(run.differences == std::vector<std::string>{"plan a1 / b2", "threads 2 / 1", "hosts 1 / 2",
                                                    "devices cpu+cpu / cuda:0"});
  CHECK(run.reason == "different environments: plan a1 / b2 and 3 more");
  CHECK(run.change.has_value());
  CHECK(compare_two(base, fresh, {.ignore_environment = true}).verdict == Verdict::same);
  fresh.strategy = base.strategy;
  fresh.strategy.plan_hash.reset();
  CHECK(compare_two(base, fresh).verdict == Verdict::same);
}

TEST_CASE("runs of other work are incomparable, whatever is ignored", "[measure]") {
  RunRecord base = steady(0.006);
  base.workload.digest = "d1";
  base.workload.parameters = 100;
  base.workload.input_shape = {8, 8};
  base.optimizer.name = "sgd";
  base.optimizer.lr = 0.01;
  base.optimizer.momentum = 0.9;
  base.optimizer.weight_decay = 0.0;
  base.strategy.batch_per_replica = 32;
  base.strategy.global_batch = 64;
  base.strategy.accumulation_steps = 1;
  base.data.source = "synthetic";
  base.data.samples = 1000;
  CHECK(compare_two(base, base).verdict == Verdict::same);

  const auto difference = [&](const auto& change) {
    RunRecord fresh = base;
    change(fresh);
    const RunComparison run = compare_two(base, fresh, {.ignore_environment = true});
    CHECK(run.verdict == Verdict::incomparable);
    CHECK_FALSE(run.change.has_value());
    REQUIRE(run.differences.size() == 1);
    CHECK(run.reason == "other work: " + run.differences[0]);
    return run.differences[0];
  };
  CHECK(difference([](RunRecord& run) { run.workload.digest = "d2"; }) ==
        "workload.digest d1 / d2");
  CHECK(difference([](RunRecord& run) { run.workload.parameters = 101; }) ==
        "workload.parameters 100 / 101");
  CHECK(difference([](RunRecord& run) { run.workload.input_shape = {64}; }) ==
        "workload.input_shape 8x8 / 64");
  CHECK(difference([](RunRecord& run) { run.optimizer.name = "adam"; }) ==
        "optimizer.name sgd / adam");
  CHECK(difference([](RunRecord& run) { run.optimizer.momentum = 0; }) ==
        "optimizer.momentum 0.9 / 0");
  CHECK(difference([](RunRecord& run) { run.optimizer.weight_decay = 5e-4; }) ==
        "optimizer.weight_decay 0 / 0.0005");
  CHECK(difference([](RunRecord& run) { run.optimizer.lr = 0.1; }) == "optimizer.lr 0.01 / 0.1");
  CHECK(difference([](RunRecord& run) { run.strategy.precision = "bf16"; }) ==
        "precision fp32 / bf16");
  CHECK(difference([](RunRecord& run) { run.strategy.batch_per_replica = 64; }) ==
        "batch_per_replica 32 / 64");
  CHECK(difference([](RunRecord& run) { run.strategy.global_batch = 128; }) ==
        "global_batch 64 / 128");
  CHECK(difference([](RunRecord& run) { run.strategy.accumulation_steps = 2; }) ==
        "accumulation_steps 1 / 2");
  CHECK(difference([](RunRecord& run) { run.data.source = "digits"; }) ==
        "data.source synthetic / digits");
  CHECK(difference([](RunRecord& run) { run.data.samples = 10; }) == "data.samples 1000 / 10");

  RunRecord older = base;  // a file of ptbench.result/1
  older.workload.digest.reset();
  CHECK(compare_two(older, base).verdict == Verdict::same);
}

TEST_CASE("files of one side that disagree are a difference", "[measure]") {
  std::vector<ResultFile> base{file_of({steady(0.006)}), file_of({steady(0.006)})};
  base[1].environment.cpu.model = "other";
  base[1].runs[0].strategy.threads = 1;
  base[0].runs[0].strategy.threads = 2;
  const std::vector<ResultFile> fresh{file_of({steady(0.006)}), file_of({steady(0.006)})};
  const Comparison comparison = compare(base, fresh, {}, {});
  CHECK(comparison.differences == std::vector<std::string>{"cpu.model CPU / other (both in BASE)"});
  CHECK(comparison.runs[0].differences == std::vector<std::string>{"threads 2 / 1 (both in BASE)"});
  CHECK(comparison.runs[0].verdict == Verdict::incomparable);
  CHECK(compare(fresh, base, {}, {}).differences ==
        std::vector<std::string>{"cpu.model CPU / other"});
}

TEST_CASE("exit codes tell regressions, ambiguity and nothing in common", "[measure]") {
  const auto code = [](const std::vector<Verdict>& verdicts, bool strict = false) {
    Comparison comparison;
    for (const Verdict verdict : verdicts) {
      RunComparison run;
      run.verdict = verdict;
      comparison.runs.push_back(run);
    }
    return exit_code_of(comparison, strict);
  };
  using enum Verdict;
  CHECK(code({same, faster, added}) == ExitCode::ok);
  CHECK(code({same, faster, added}, true) == ExitCode::ok);
  CHECK(code({same, ambiguous, incomparable}) == ExitCode::ok);
  CHECK(code({same, ambiguous}, true) == ExitCode::ambiguous);
  CHECK(code({same, incomparable}, true) == ExitCode::ambiguous);
  CHECK(code({same, slower}) == kRegression);
  CHECK(code({same, failed}) == kRegression);
  CHECK(code({same, missing}) == kRegression);
  CHECK(code({ambiguous, slower}, true) == kRegression);
  CHECK(code({}) == ExitCode::usage);
  CHECK(code({missing, added}) == ExitCode::usage);
}

TEST_CASE("a run that is in both files but was skipped in NEW is missing, not a mistake",
          "[measure]") {
  const Comparison comparison = compare_files(
      file_of({steady(0.006)}), file_of({with_status(Status::skipped, "3 ranks on 2 cores")}));
  CHECK(exit_code_of(comparison, false) == kRegression);
}

TEST_CASE("every verdict has a name", "[measure]") {
  CHECK(name_of(Verdict::added) == "new");
  CHECK(name_of(Verdict::incomparable) == "incomparable");
  CHECK(name_of(Verdict::same) == "same");
}

TEST_CASE("compared with nothing, all is new", "[measure]") {
  const ResultFile fresh = file_of({steady(0.006)});
  const Comparison comparison = compare({}, {&fresh, 1}, {}, {});
  REQUIRE(comparison.runs.size() == 1);
  CHECK(comparison.runs[0].verdict == Verdict::added);
}

TEST_CASE("nothing compared with nothing is nothing", "[measure]") {
  const Comparison comparison = compare({}, {}, {}, {});
  CHECK(comparison.runs.empty());
  CHECK(comparison.differences.empty());
  CHECK(comparison.detect == 0.05);
}

}  // namespace ptbench
