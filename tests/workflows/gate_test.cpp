// `ptbench gate` as users run it: two builds, of which one may be slower, too old, or broken.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <thread>

#include "src/measure/step_protocol.h"
#include "src/process/child_process.h"
#include "tests/run/command.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using testing::ProgramResult;
using testing::RunCommand;

ProgramResult gate(const RunCommand& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {PTBENCH_EXECUTABLE, "gate", "-w", "mlp", "-b", "8", "--threads", "1"});
  return testing::run_program(arguments,
                              {.folder = place.path("."),
                               .environment = {"XDG_CACHE_HOME=" + place.path("cache").string()},
                               .deadline = std::chrono::minutes(4)});
}

/// CPU time a process may use while it sleeps, of the time: sanitizers make each look cost more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kAsleep = 0.01;
#else
constexpr double kAsleep = 0.001;
#endif

/// A build that does `actions` before it does what it is asked for.
std::string build(const RunCommand& place, const std::string& name, const std::string& actions) {
  place.write(name, "#!/bin/sh\n" + actions + "\nexec '" PTBENCH_EXECUTABLE "' \"$@\"\n");
  fs::permissions(place.path(name), fs::perms::owner_all);
  return place.path(name).string();
}

/// A program of the user.
constexpr const char* kScripted =
    "python3 '" PTBENCH_SOURCE_DIR "/tests/support/scripted_program.py' durations=2";

/// One whose steps take four times as long.
std::string slow_build(const RunCommand& place) {
  return build(place, "slow", "if [ \"$1\" = run ]; then set -- \"$@\" --slowdown=3; fi");
}

/// The process and those that it started, and what they started.
void add_family(int process, std::vector<int>& family) {
  family.push_back(process);
  std::ifstream children("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) +
                         "/children");
  for (int child = 0; children >> child;) add_family(child, family);
}

/// CPU seconds that all threads of these have used.
double cpu_seconds(const std::vector<int>& processes) {
  double seconds = 0;
  for (const int process : processes) {
    clockid_t clock = 0;
    timespec time{};
    REQUIRE(clock_getcpuclockid(process, &clock) == 0);
    REQUIRE(clock_gettime(clock, &time) == 0);
    seconds += static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  return seconds;
}

/// The base, which takes no turns, does `actions` before it does what it is asked for.
void check_whole_processes(const std::string& actions) {
  const RunCommand place;
  const std::string old = build(place, "old", actions);
  const ProgramResult result =
      gate(place, {"--base", old, "--new", slow_build(place), "--max-time", "2"});
  CHECK((result.exit_code == 0 || result.exit_code == 3));  // a busy machine may leave it open
  CHECK_THAT(result.errors, Contains("whole processes, not in lockstep"));
  CHECK_THAT(result.output, !Contains("pairs"));
}

}  // namespace

TEST_CASE("a build that is far slower ends a gate with 3, and every report says so",
          "[workflows]") {
  const RunCommand place;
  const ProgramResult result =
      gate(place, {"--base", PTBENCH_EXECUTABLE, "--new", slow_build(place), "--keep", "kept", "-o",
                   "gate.md", "-o", "gate.xml", "-o", "gate.json"});
  CHECK(result.exit_code == 3);
  CHECK_THAT(result.output, Contains("slower") && Contains("pairs"));
  CHECK_THAT(place.text("gate.md"), Contains("slower"));
  CHECK_THAT(place.text("gate.xml"), Contains("<failure"));
  const nlohmann::json judged = nlohmann::json::parse(place.text("gate.json")).at("runs").at(0);
  CHECK(judged.at("verdict") == "slower");
  CHECK(judged.at("pairs") >= 6);
  CHECK(judged.at("change") > 1.0);

  const nlohmann::json base = place.json("kept/base.json").at("runs").at(0).at("samples");
  const nlohmann::json fresh = place.json("kept/new.json").at("runs").at(0).at("samples");
  REQUIRE(base.at("repetitions").size() == judged.at("pairs"));
  for (std::size_t pair = 0; pair < base.at("repetitions").size(); ++pair)
    CHECK(base.at("repetitions").at(pair).at("lockstep") ==
          fresh.at("repetitions").at(pair).at("lockstep"));
  CHECK(base.at("slices").at(0).at("turn").is_number());
  CHECK(fresh.at("slowdown") == 3);

  const ProgramResult again = testing::run_program(
      {PTBENCH_EXECUTABLE, "compare", place.path("kept/new.json"), place.path("kept/base.json")});
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.output, Contains("faster") && Contains("pairs"));
}

TEST_CASE("a build without the protocol is measured by whole processes, and that is said",
          "[workflows]") {
  check_whole_processes(
      R"sh(case "$*" in *--turns*) echo "ptbench: error: unknown option '--turns'" >&2
exit 1;; esac)sh");
}

TEST_CASE("a build with a later protocol is measured by whole processes too", "[workflows]") {
  check_whole_processes(R"sh(for one in "$@"; do case "$one" in --turns=*) exec python3 -c "
import socket, sys, time
place = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
place.connect('\0' + sys.argv[1])
place.send(b'{\"protocol\": \"ptbench.steps/2\"}')
time.sleep(60)" "${one#--turns=}";; esac; done)sh");
}

TEST_CASE("a new build that breaks fails the gate, and one that is none is refused",
          "[workflows]") {
  const RunCommand place;
  const std::string broken = build(place, "broken", "case \"$*\" in *--turns*) kill -9 $$;; esac");
  const ProgramResult failed = gate(place, {"--base", PTBENCH_EXECUTABLE, "--new", broken});
  CHECK(failed.exit_code == 3);
  CHECK_THAT(failed.output, Contains("failed") && Contains("killed by signal 9"));

  const ProgramResult none = gate(place, {"--base", "/bin/true", "--new", PTBENCH_EXECUTABLE});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.errors, Contains("--base '/bin/true' is not a ptbench"));
  CHECK(gate(place, {"--new", PTBENCH_EXECUTABLE}).exit_code == 1);
  const ProgramResult wrong = gate(place, {"--base", PTBENCH_EXECUTABLE, "--new",
                                           PTBENCH_EXECUTABLE, "-s", "serial", "-n", "2"});
  CHECK(wrong.exit_code == 1);
}

TEST_CASE("a gate that is interrupted keeps the pairs that it has, and writes its reports",
          "[workflows]") {
  using Words = std::vector<std::string>;
  const auto [signal, sides] = GENERATE_COPY(
      table<int, Words>({{SIGINT,
                          {"--base", PTBENCH_EXECUTABLE, "--new", PTBENCH_EXECUTABLE, "-w", "mlp",
                           "-b", "8", "--threads", "1"}},
                         {SIGTERM, {"--base-program", kScripted, "--new-program", kScripted}}}));
  CAPTURE(signal);
  const RunCommand place;
  std::string errors;
  (void)std::signal(SIGINT, SIG_DFL);  // as shells let jobs in the background ignore it
  Words arguments{"XDG_CACHE_HOME=" + place.path("cache").string(), PTBENCH_EXECUTABLE, "gate"};
  arguments.insert(arguments.end(), sides.begin(), sides.end());
  arguments.insert(arguments.end(), {"--max-pairs", "1000", "--detect", "0.1%", "--keep",
                                     place.path("kept").string()});
  for (const char* const report : {"gate.json", "gate.md", "gate.xml", "gate.html"})
    arguments.insert(arguments.end(), {"-o", place.path(report).string()});
  ChildProcess gating({.program = "/usr/bin/env",
                       .arguments = arguments,
                       .on_output = [](std::string_view) {},
                       .on_errors = [&](std::string_view text) { errors += text; }});
  gating.end_within(std::chrono::minutes(4));
  const auto pairs = [&](const char* file) -> std::size_t {
    if (!fs::exists(place.path(file))) return 0;
    const nlohmann::json runs = place.json(file).at("runs");
    return runs.empty() ? 0 : runs.at(0).at("samples").at("repetitions").size();
  };
  while (pairs("kept/new.json") < 2) REQUIRE_FALSE(gating.wait(std::chrono::milliseconds(200)));
  std::vector<int> family;
  add_family(gating.id(), family);
  REQUIRE(kill(gating.id(), signal) == 0);
  std::optional<ChildExit> ended;
  while (!ended) ended = gating.wait(std::chrono::seconds(1));
  CHECK(ended->code == 130);
  CHECK(pairs("kept/base.json") >= 2);
  CHECK(pairs("kept/new.json") >= 2);
  CHECK(place.json("kept/base.json").at("runs").at(0).at("status") == "interrupted");
  CHECK_THAT(errors, Contains("14 pairs of processes until the first look, about ") &&
                         Contains("at most 1000 pairs") &&
                         Contains("warning: interrupted after ") &&
                         Contains(" of up to 1000 pairs: what was measured is in ") &&
                         Contains("gate.html"));
  const nlohmann::json judged = nlohmann::json::parse(place.text("gate.json")).at("runs").at(0);
  CHECK(judged.at("verdict") == "ambiguous");
  CHECK_THAT(judged.at("reason").get<std::string>(), Contains("interrupted after "));
  CHECK_THAT(place.text("gate.md"), Contains("interrupted after "));
  CHECK_THAT(place.text("gate.xml"), Contains("interrupted after "));
  CHECK_THAT(place.text("gate.html"), Contains("interrupted after "));
  for (const int process : family) CHECK(kill(process, 0) != 0);
}

TEST_CASE("ranks take turns as well", "[workflows]") {
  const RunCommand place;
  const ProgramResult result =
      gate(place, {"--base", PTBENCH_EXECUTABLE, "--new", slow_build(place), "-s", "ddp", "-n", "2",
                   "--max-pairs", "3"});
  CHECK((result.exit_code == 0 || result.exit_code == 3));  // three pairs may leave it open
  CHECK_THAT(result.output, Contains("3 pairs"));
  CHECK_THAT(result.errors, !Contains("whole processes"));
}

TEST_CASE("who waits for its turn sleeps, helper threads and ranks included", "[workflows]") {
  const RunCommand place;
  TurnGrants grants;
  std::vector<std::string> arguments{"run",
                                     "-w",
                                     "mlp",
                                     "--pass=next",
                                     "-b",
                                     "8",
                                     "--verify=off",
                                     "--timeout=2",
                                     "--turns=" + grants.name(),
                                     "--output=" + place.path("r.json").string()};
  SECTION("one rank with loaders") {
    arguments.insert(arguments.end(), {"--data-workers", "2", "--threads", "2"});
  }
  SECTION("two ranks") { arguments.insert(arguments.end(), {"-s", "ddp", "-n", "2"}); }
  ChildProcess process({.program = PTBENCH_EXECUTABLE, .arguments = arguments});
  process.end_within(std::chrono::minutes(2));
  const auto wait_for_rest = [&] {
    while (!grants.is_waited_for()) {
      REQUIRE_FALSE(process.wait(std::chrono::milliseconds(100), grants.descriptor()));
      grants.look();
    }
  };
  for (Size turn = 0; turn < 2; ++turn) {
    wait_for_rest();
    grants.grant({.number = turn, .seconds = 0.05, .steps = 3});
  }
  wait_for_rest();
  std::vector<int> family;
  add_family(process.id(), family);
  const double before = cpu_seconds(family);
  // Longer than --timeout: the deadlines of who sleeps stand still.
  std::this_thread::sleep_for(std::chrono::seconds(4));
  CHECK(cpu_seconds(family) - before < kAsleep * 4 * static_cast<double>(family.size()));
  grants.grant({.number = 2, .seconds = 0.05, .steps = 3});
  wait_for_rest();
  grants.close();
  std::optional<ChildExit> ended;
  while (!ended) ended = process.wait(std::chrono::seconds(1));
  CHECK(ended->code == 0);
  const nlohmann::json samples = place.json("r.json").at("runs").at(0).at("samples");
  CHECK(samples.at("slices").size() == 3);
  CHECK(samples.at("stop_reason").is_null());
}

}  // namespace ptbench
