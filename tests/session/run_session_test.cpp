// A session with a shell script in place of ptbench, which does what each test wants.
#include "src/session/run_session.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "reports/json.h"
#include "tests/support/captured_stream.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

RunRecord measured(const std::string& id) {
  RunRecord record;
  record.id = id;
  record.workload.name = "mlp";
  record.strategy.name = "serial";
  record.strategy.global_batch = 10;
  record.loss.first = 2.5;
  record.samples.steps_per_sample = 1;
  record.samples.step_seconds = {0.1, 0.1};
  SliceRecord slice;
  slice.count = 2;
  slice.clean = true;
  slice.median_seconds = 0.1;
  record.samples.slices = {slice};
  record.samples.repetitions = {
      {.median_seconds = 0.1, .placement = std::nullopt, .clean_slices = 1}};
  return record;
}

std::string as_file(const RunRecord& record) {
  ResultFile file;
  file.generator.version = "9";
  file.created = "2025-06-30T12:34:56Z";
  file.runs.push_back(record);
  return to_json(file);
}

/// The script logs the arguments of each call as a line, sets $pass, $output and $call (its number
/// from 0), then does `actions`; $prepared and $measured are results that it may copy to $output.
class SessionRun {
 public:
  explicit SessionRun(const std::string& actions) {
    RunRecord prepared = measured("id");
    prepared.samples = {};
    const std::string head =
        "#!/bin/sh\n"
        "call=$(cat '" +
        path("log") +
        "' 2>/dev/null | wc -l)\n"
        "echo \"$*\" >>'" +
        path("log") +
        "'\n"
        "prepared='" +
        folder_.write("prepared.json", as_file(prepared)) +
        "'\n"
        "measured='" +
        folder_.write("measured.json", as_file(measured("id"))) +
        "'\n"
        "for word in \"$@\"; do case $word in\n"
        "  --pass=*) pass=${word#*=} ;;\n"
        "  --output=*) output=${word#*=} ;;\n"
        "esac; done\n";
    setup_.program = folder_.write("program", head + actions + "\n");
    fs::permissions(setup_.program, fs::perms::owner_all);
    setup_.arguments = {"--workload=mlp", "--verify=on"};
    setup_.first_arguments = {"--loss-log=l.csv"};
    setup_.id = "id";
  }

  [[nodiscard]] SessionSetup& setup() { return setup_; }
  [[nodiscard]] SessionSurroundings surroundings() {
    return {.clock = clock_, .interrupt = interrupt_, .progress = progress_, .prior = prior_};
  }
  /// The arguments of every call so far.
  [[nodiscard]] std::vector<std::string> calls() const {
    std::ifstream log(path("log"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(log, line);) lines.push_back(line);
    return lines;
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }

 private:
  testing::TemporaryDirectory folder_;
  SessionSetup setup_;
  SteadyClock clock_;
  InterruptWatch interrupt_;
  Progress progress_{clock_, stderr, false};
  PriorNoise prior_;
};

constexpr const char* kWell =
    "case $pass in prepare) cp \"$prepared\" \"$output\" ;; *) cp \"$measured\" \"$output\" ;; "
    "esac;";

std::string well_but_in_second(const std::string& actions) {
  return "if [ \"$call\" = 2 ]; then " + actions + "; fi; " + kWell;
}

using Catch::Contains;

}  // namespace

TEST_CASE("a session prepares once and measures each repetition in a process of its own") {
  SessionRun fixture(kWell);
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.origin());
  CHECK(session.record().id == "id");
  REQUIRE(session.prepare());
  CHECK(session.origin()->generator.version == "9");
  CHECK(session.origin()->runs.empty());
  CHECK(session.repetitions() == 0);
  REQUIRE(session.repeat("first"));
  REQUIRE(session.repeat("second"));
  CHECK(session.repetitions() == 2);
  const RunRecord record = session.record();
  CHECK(record.status == Status::ok);
  CHECK(record.samples.repetitions.size() == 2);
  CHECK(record.samples.slices.back().repetition == 1);
  CHECK(*record.throughput.value == Approx(100));
}

TEST_CASE("repetitions that begin with different losses are no repetitions") {
  SessionRun fixture(
      "if [ $pass = prepare ]; then cp $prepared $output; exit; fi\n"
      "if [ $call -lt 3 ]; then cp $measured $output; exit; fi\n"
      "sed 's/2\\.5/2.5001/' $measured >$output");
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  REQUIRE(session.repeat("second"));
  CHECK(session.record().status == Status::ok);
  REQUIRE(session.repeat("third"));
  const RunRecord record = session.record();
  CHECK(record.status == Status::failed);
  CHECK_THAT(record.reason.value_or(""), Contains("began with different losses, 2.5 and 2.5001"));
  CHECK_FALSE(record.throughput.value);
}

TEST_CASE("each process is told its part") {
  SessionRun fixture(kWell);
  fixture.setup().repetition_seconds = 4;
  fixture.setup().least_seconds = 0.25;
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  REQUIRE(session.repeat("second"));
  const std::vector<std::string> calls = fixture.calls();
  REQUIRE(calls.size() == 3);
  for (const std::string& call : calls) {
    CHECK_THAT(call, Catch::StartsWith("run --workload=mlp ") && Contains(" --repeats=1 ") &&
                         Contains(" --output=") && !Contains("--progress-prefix"));
  }
  CHECK_THAT(calls[0], Contains(" --verify=on --pass=prepare --keep-plan=") &&
                           !Contains(" --plan=") && !Contains("--loss-log"));
  CHECK_THAT(calls[1], Contains(" --loss-log=l.csv --pass=first --plan=") &&
                           Contains(" --verify=off --max-time=4 --min-time=0.25"));
  CHECK_THAT(calls[2], Contains(" --pass=next --plan=") && !Contains("--loss-log") &&
                           Contains("--verify=off") && !Contains("--verify=on"));
}

TEST_CASE("the user's plan file is used by all") {
  SessionRun fixture(kWell);
  fixture.setup().plan_file = "my plan.json";
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  for (const std::string& call : fixture.calls())
    CHECK_THAT(call, Contains(" --plan=my plan.json ") && !Contains("--keep-plan"));
}

TEST_CASE("a plan file that may be extended gets what a configuration lacks in it") {
  const std::string plan = R"({"schema":"ptbench.plan/1","fingerprint":"f","choices":{"a":"1"}})";
  SessionRun fixture("for word in \"$@\"; do case $word in --keep-plan=*) echo '" + plan +
                     "' >\"${word#*=}\" ;; esac; done\n" + kWell);
  fixture.setup().plan_file = fixture.path("plan.json");
  fixture.setup().extends_plan = true;
  const auto write_plan = [&](const std::string& text) {
    std::ofstream(fixture.path("plan.json")) << text;
  };
  const auto text = [&] {
    std::ifstream file(fixture.path("plan.json"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  RunSession session(fixture.setup(), fixture.surroundings());
  SECTION("absent") {
    REQUIRE(session.prepare());
    REQUIRE(session.repeat("first"));
    CHECK_THAT(text(), Contains("\"a\": \"1\""));
    const std::vector<std::string> calls = fixture.calls();
    CHECK_THAT(calls[0], Contains("--keep-plan=") && !Contains("--plan="));
    CHECK_THAT(calls[1], Contains("--plan=" + fixture.path("plan.json")));
  }
  SECTION("of other configurations, which keep their choices") {
    write_plan(R"({"schema":"ptbench.plan/1","fingerprint":"f","choices":{"b":"2"}})");
    REQUIRE(session.prepare());
    CHECK_THAT(text(), Contains("\"a\": \"1\"") && Contains("\"b\": \"2\""));
  }
  SECTION("of another machine") {
    write_plan(R"({"schema":"ptbench.plan/1","fingerprint":"g","choices":{}})");
    CHECK_FALSE(session.prepare());
    REQUIRE(session.refusal());
    CHECK(session.record().status == Status::failed);
    CHECK_THAT(session.record().reason.value(), Contains("another machine or thread count"));
    CHECK_THAT(text(), Contains("\"g\""));
  }
}

TEST_CASE("a program that is no ptbench, or too old, is named") {
  const std::string actions =
      GENERATE("exit 0", "echo \"ptbench: error: there is no option '--keep-plan'\" >&2; exit 1");
  SessionRun fixture(actions);
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  CHECK(session.record().status == Status::failed);
  CHECK_THAT(session.record().reason.value(),
             Contains("/program' is not a ptbench, or too old to be measured with: ") &&
                 !Contains("result.json"));
}

TEST_CASE("steps are not limited by time") {
  SessionRun fixture(kWell);
  fixture.setup().arguments = {"--steps=100"};
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  CHECK_THAT(fixture.calls().back(), !Contains("-time"));
}

TEST_CASE("nothing is measured where only verification was asked for") {
  SessionRun fixture(kWell);
  fixture.setup().arguments = {"--verify=only"};
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  CHECK(session.record().status == Status::ok);
  CHECK_FALSE(session.refusal());
}

TEST_CASE("a process that is killed fails the run, and what others measured stays") {
  SessionRun fixture(well_but_in_second("kill -KILL $$"));
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  CHECK_FALSE(session.repeat("second"));
  const RunRecord record = session.record();
  CHECK(record.status == Status::failed);
  CHECK(record.reason == "repetition 2 was killed by signal 9 (out of memory?)");
  CHECK(record.samples.repetitions.size() == 1);
  CHECK(session.repetitions() == 1);
  CHECK_FALSE(session.refusal());
}

TEST_CASE("a process that ends in an unusual way is quoted") {
  SessionRun fixture(well_but_in_second("echo first line >&2; echo 'last line' >&2; exit 70"));
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  CHECK_FALSE(session.repeat("second"));
  CHECK(session.record().reason == "repetition 2 ended with exit code 70: last line");
}

TEST_CASE("what a process refuses is an error with its remedy and code") {
  const auto code = GENERATE(ExitCode::usage, ExitCode::capability);
  SessionRun fixture(
      "echo 'ptbench: error: no such thing' >&2\n"
      "echo 'ptbench: remedy: take another' >&2\n"
      "exit " +
      std::to_string(static_cast<int>(code)));
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  REQUIRE(session.refusal());
  CHECK(session.refusal()->code() == code);
  CHECK(session.refusal()->what() == std::string("no such thing"));
  CHECK(session.refusal()->remedy() == "take another");
  CHECK(session.record().status == Status::failed);
  CHECK(session.record().reason == "no such thing");
  CHECK(session.record().id == "id");
}

TEST_CASE("a process that leaves a broken result fails the run") {
  SessionRun fixture("echo '{' >\"$output\"; exit 0");
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  CHECK(session.record().status == Status::failed);
  CHECK_THAT(
      session.record().reason.value(),
      Contains("the preparation left no result that can be read: result file 'result.json'"));
}

TEST_CASE("an interruption reaches the process, which is waited for, and nothing is lost") {
  // The second repetition interrupts its parent alone, and saves only when it is interrupted too.
  SessionRun fixture(
      well_but_in_second("trap 'cp \"$measured\" \"$output\"; exit 130' TERM; "
                         "kill -TERM $PPID; while :; do sleep 0.01; done"));
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  CHECK_FALSE(session.repeat("second"));
  const RunRecord record = session.record();
  CHECK(record.status == Status::interrupted);
  CHECK(record.reason == "stopped by a signal during repetition 2");
  CHECK(record.samples.repetitions.size() == 2);
}

TEST_CASE("no process is started after an interruption") {
  SessionRun fixture(kWell);
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  raise(SIGTERM);
  CHECK_FALSE(session.repeat("first"));
  CHECK(session.record().status == Status::interrupted);
  CHECK(session.record().workload.name == "mlp");
  CHECK(fixture.calls().size() == 1);
}

TEST_CASE("a session goes on from what an earlier program measured") {
  SessionRun fixture(kWell);
  RunSession session(fixture.setup(), fixture.surroundings());
  RunRecord earlier = measured("id");
  earlier.status = Status::interrupted;
  earlier.reason = "stopped by a signal";
  session.resume(earlier);
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("first"));
  CHECK(session.repetitions() == 1);
  CHECK(session.record().status == Status::ok);
  CHECK_FALSE(session.record().reason);
  CHECK(session.record().samples.repetitions.size() == 2);
}

TEST_CASE("a session leaves no files behind") {
  const testing::TemporaryDirectory scratch;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  SessionRun fixture(kWell);
  setenv("TMPDIR", scratch.path().c_str(), 1);
  {
    RunSession session(fixture.setup(), fixture.surroundings());
    CHECK_FALSE(fs::is_empty(scratch.path()));
    REQUIRE(session.prepare());
    REQUIRE(session.repeat("first"));
  }
  CHECK(fs::is_empty(scratch.path()));
  if (before == nullptr)
    unsetenv("TMPDIR");
  else
    setenv("TMPDIR", kept.c_str(), 1);
}

TEST_CASE("a session hands the program and its arguments to a launcher") {
  SessionRun fixture(kWell);
  fixture.setup().launcher = RankLauncher{.command = "env LAUNCHED='with 2'", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  REQUIRE(session.repeat("one, two"));
  const auto calls = fixture.calls();
  REQUIRE(calls.size() == 2);
  for (const std::string& call : calls)
    CHECK_THAT(call, Catch::StartsWith("run --workload=mlp") && Contains("--launched-ranks=2"));
}

TEST_CASE("what a rank reported counts, whatever code its launcher ends with") {
  SessionRun fixture(
      "case $pass in prepare) cp \"$prepared\" \"$output\" ;; *) sed "
      "'0,/\"status\"/s/\"status\":[^,]*,/\"status\": \"failed\",/' \"$measured\" >\"$output\"; "
      "exit 1 ;; "
      "esac");
  fixture.setup().launcher = RankLauncher{.command = "env", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  CHECK_FALSE(session.repeat("one"));
  CHECK(session.record().status == Status::failed);
  CHECK(session.record().samples.step_seconds.size() == 2);
  CHECK_FALSE(session.refusal());
}

TEST_CASE("a launcher that fails fails what its ranks measured") {
  SessionRun fixture(std::string(kWell) +
                     " test $pass = prepare || { echo lost a rank >&2; exit 9; }");
  fixture.setup().launcher = RankLauncher{.command = "env", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  CHECK_FALSE(session.repeat("one"));
  CHECK(session.record().status == Status::failed);
  CHECK(session.record().reason ==
        "repetition 1: its launcher ended with exit code 9: lost a rank");
  CHECK(session.record().strategy.launcher == "env");
}

TEST_CASE("ranks that ended because their launcher was killed are not the user's interruption") {
  SessionRun fixture(
      "case $pass in prepare) cp \"$prepared\" \"$output\" ;; *) sed "
      "'0,/\"status\"/s/\"status\":[^,]*,/\"status\": \"interrupted\",/' \"$measured\" "
      ">\"$output\"; exit 137 ;; esac");
  fixture.setup().launcher = RankLauncher{.command = "env", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  REQUIRE(session.prepare());
  CHECK_FALSE(session.repeat("one"));
  CHECK(session.record().status == Status::failed);
  CHECK_THAT(session.record().reason.value_or(""),
             Contains("repetition 1: its launcher ended with exit code 137"));
}

TEST_CASE("what launched ranks were refused is known whatever their launcher ends with") {
  SessionRun fixture(
      R"(echo '{"code": 5, "message": "no such device", "remedy": "buy one"}' >"$output.refusal")"
      "\necho ptbench: error: other >&2; exit 1");
  fixture.setup().launcher = RankLauncher{.command = "env", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  REQUIRE(session.refusal());
  CHECK(session.refusal()->code() == ExitCode::capability);
  CHECK(session.refusal()->remedy() == "buy one");
  CHECK(session.record().reason == "no such device");
}

TEST_CASE("an error before launched ranks are one run fails them, whatever its exit code") {
  SessionRun fixture("echo ptbench: error: rank 1 did not come >&2; exit 1");
  fixture.setup().launcher = RankLauncher{.command = "env", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  CHECK_FALSE(session.refusal());
  CHECK(session.record().reason ==
        "the preparation: its launcher ended with exit code 1: rank 1 did not come");
}

TEST_CASE("a launcher that starts nothing is told from a program that is no ptbench") {
  SessionRun fixture(kWell);
  fixture.setup().launcher = RankLauncher{.command = "echo that was all >&2; true", .ranks = 2};
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  CHECK(session.record().reason ==
        "the preparation: its launcher ended with exit code 0: that was all, and left no result");
}

TEST_CASE("a process that is stopped does not keep its session waiting") {
  SessionRun fixture("[ \"$call\" = 0 ] && kill -STOP $$; " + std::string(kWell));
  fixture.setup().longest_stop = std::chrono::milliseconds(500);
  RunSession session(fixture.setup(), fixture.surroundings());
  CHECK_FALSE(session.prepare());
  const RunRecord record = session.record();
  CHECK(record.status == Status::failed);
  CHECK_THAT(
      record.reason.value_or(""),
      Contains("the preparation was stopped, did not continue within --timeout, and was killed"));
}

TEST_CASE("what every process of a session prints is shown once", "[app]") {
  SessionRun fixture(
      "echo '[program] No CUDA runtime is found' >&2; echo \"[program] call $call\" >&2; " +
      std::string(kWell));
  const SessionSurroundings plain = fixture.surroundings();
  const testing::CapturedStream printed;
  ShownLines shown;
  {
    Progress progress(plain.clock, printed.stream(), false);
    RunSession session(fixture.setup(), {.clock = plain.clock,
                                         .interrupt = plain.interrupt,
                                         .progress = progress,
                                         .prior = plain.prior,
                                         .shown = &shown});
    REQUIRE(session.prepare());
    REQUIRE(session.repeat("first"));
    REQUIRE(session.repeat("second"));
  }
  CHECK(printed.text() ==
        "[program] No CUDA runtime is found\n[program] call 0\n[program] call 1\n[program] call "
        "2\n");
}

TEST_CASE("a session that waits lets all of the work tell how far it is", "[app]") {
  SessionRun fixture("sleep 0.3; " + std::string(kWell));
  std::vector<std::string> lines;
  const SessionSurroundings plain = fixture.surroundings();
  LongWork whole(plain.clock, {.say = [&](const std::string& line) { lines.push_back(line); },
                               .interval_seconds = 0});
  SessionSurroundings around = plain;
  around.whole = &whole;
  whole.begin("2 processes", 60);
  RunSession session(fixture.setup(), around);
  REQUIRE(session.prepare());
  REQUIRE(lines.size() > 1);
  CHECK(lines[0] == "2 processes");
  CHECK_THAT(lines[1], Catch::StartsWith("0 %, "));
}

}  // namespace ptbench
