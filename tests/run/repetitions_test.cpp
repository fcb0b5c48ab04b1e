// `ptbench run` measures in fresh processes; what becomes of it when one of them dies.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "src/process/child_process.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

namespace fs = std::filesystem;

using Catch::Contains;
using Words = std::vector<std::string>;

/// The parent of that process; 0 if it is gone.
int parent_of(const fs::path& process) {
  const std::string text = contents_of(process / "stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  int parent = 0;
  rest >> state >> parent;
  return parent;
}

/// A terminal of its own, which hangs up.
class Terminal {
 public:
  Terminal() : side_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    REQUIRE(side_ >= 0);
    REQUIRE(grantpt(side_) == 0);
    REQUIRE(unlockpt(side_) == 0);
    std::array<char, 64> name{};
    REQUIRE(ptsname_r(side_, name.data(), name.size()) == 0);
    name_ = name.data();
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { hang_up(); }

  [[nodiscard]] const std::string& name() const { return name_; }
  void hang_up() {
    if (side_ >= 0) (void)close(std::exchange(side_, -1));
  }

 private:
  int side_;
  std::string name_;
};

/// A run with a temporary folder of its own, that can be disturbed.
class WatchedRun {
 public:
  explicit WatchedRun(const Words& arguments) : process_(command(arguments)) {}
  WatchedRun(const Words& arguments, const Terminal& terminal)
      : process_(on_terminal(terminal, command(arguments))) {}

  [[nodiscard]] int id() const { return process_.id(); }

  /// The process that does this part, once there is one.
  [[nodiscard]] int process_of(const std::string& pass) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            parent_of(entry.path()) == id() &&
            contents_of(entry.path() / "cmdline").find("--pass=" + pass) != std::string::npos)
          return std::stoi(name);
      }
      REQUIRE_FALSE(process_.wait(std::chrono::milliseconds(5)).has_value());
    }
    FAIL("no process does '" << pass << "'");
    return 0;
  }

  [[nodiscard]] int exit_code() { return process_.wait(std::chrono::seconds(60)).value().code; }
  [[nodiscard]] nlohmann::json record() const {
    return parse_json(contents_of(folder_.path() / "r.json"))["runs"].at(0);
  }
  [[nodiscard]] bool left_nothing() const { return fs::is_empty(folder_.path() / "scratch"); }

 private:
  /// As the leader of a session of that terminal.
  [[nodiscard]] static ChildCommand on_terminal(const Terminal& terminal, ChildCommand command) {
    const std::string streams = "<" + terminal.name() + " >" + terminal.name() + " 2>&1";
    Words words{"-c", "exec setsid --ctty \"$@\" " + streams, "bash", command.program.string(),
                "TERM=dumb"};
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    return {.program = "/bin/bash", .arguments = words};
  }

  [[nodiscard]] ChildCommand command(const Words& arguments) const {
    fs::create_directory(folder_.path() / "scratch");
    // As shells let jobs in the background ignore the one, and nohup the other.
    (void)std::signal(SIGINT, SIG_DFL);
    (void)std::signal(SIGHUP, SIG_DFL);
    Words words{"TMPDIR=" + (folder_.path() / "scratch").string(),
                "XDG_CACHE_HOME=" + (folder_.path() / "cache").string(),
                PTBENCH_EXECUTABLE,
                "run",
                "-o",
                (folder_.path() / "r.json").string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return {.program = "/usr/bin/env", .arguments = words};
  }

  TemporaryDirectory folder_;
  ChildProcess process_;
};

TEST_CASE("a run measures each repetition in a fresh process", "[run]") {
  WatchedRun run({"-w", "linear", "--threads", "1", "--max-time", "6", "--repeats", "3"});
  REQUIRE(run.exit_code() == 0);
  const nlohmann::json record = run.record();
  CHECK(record["status"] == "ok");
  CHECK(record["id"] == "linear/serial/n1/b32/fp32/threads=1");
  const nlohmann::json& samples = record["samples"];
  const auto repetitions = static_cast<int>(samples["repetitions"].size());
  CHECK((repetitions == 3 || samples["stop_reason"] == "max_time"));  // on a machine that is busy
  CHECK(samples["slices"].front()["repetition"] == 0);
  CHECK(samples["slices"].back()["repetition"] == repetitions - 1);
  CHECK(samples["count"] == samples["step_seconds"].size());
  CHECK(record["phases_seconds"]["forward"].is_number());
  CHECK(record["throughput"]["value"].get<double>() > 0);
  CHECK(run.left_nothing());
}

TEST_CASE("two repetitions have no interval, and the first one writes the files", "[run]") {
  const RunCommand run;
  const ProgramResult result =
      run({"-w", "linear", "--max-time", "2", "--repeats", "2", "-o", "r.json", "--loss-log",
           "l.csv", "--save-final-weights", "w.safetensors", "--plan", "p.json"});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(result.errors.empty());
  CHECK_THAT(result.output, Contains("throughput"));
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["step_seconds"]["ci95"].is_null());
  CHECK(record["samples"]["repetitions"].size() <= 2);
  CHECK_THAT(run.text("l.csv"), Catch::StartsWith("step,loss\n1,"));
  CHECK_FALSE(run.text("w.safetensors").empty());
  CHECK_FALSE(run.json("p.json")["choices"].empty());
  CHECK(run.partial_files() == 0);
}

TEST_CASE("a repetition that is killed fails the run, which keeps what others measured", "[run]") {
  WatchedRun run({"-w", "linear", "--max-time", "15", "--repeats", "5"});
  REQUIRE(kill(run.process_of("next"), SIGKILL) == 0);
  CHECK(run.exit_code() == 2);
  const nlohmann::json record = run.record();
  CHECK(record["status"] == "failed");
  CHECK_THAT(record["reason"].get<std::string>(), Contains("was killed by signal 9"));
  CHECK_FALSE(record["samples"]["repetitions"].empty());
  CHECK(record["throughput"]["value"].is_number());
  CHECK(run.left_nothing());
}

TEST_CASE("a signal to the run alone ends its processes, and what they measured is saved",
          "[run]") {
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  WatchedRun run({"-w", "linear", "--max-time", "15", "--repeats", "5"});
  const int repetition = run.process_of("next");
  REQUIRE(kill(run.id(), signal) == 0);
  CHECK(run.exit_code() == 130);
  CHECK(parent_of("/proc/" + std::to_string(repetition)) == 0);
  const nlohmann::json record = run.record();
  CHECK(record["status"] == "interrupted");
  CHECK_THAT(record["reason"].get<std::string>(), Contains("stopped by a signal"));
  CHECK_FALSE(record["samples"]["repetitions"].empty());
  CHECK(run.left_nothing());
}

TEST_CASE("what was measured is saved when the terminal hangs up", "[run]") {
  Terminal terminal;
  WatchedRun run({"-w", "linear", "--max-time", "15", "--repeats", "5"}, terminal);
  (void)run.process_of("next");
  terminal.hang_up();
  CHECK(run.exit_code() == 130);
  CHECK(run.record()["status"] == "interrupted");
  CHECK_FALSE(run.record()["samples"]["repetitions"].empty());
  CHECK(run.left_nothing());
}

TEST_CASE("a process of a run that is stopped for good is killed", "[run]") {
  const std::string pass = GENERATE("prepare", "next");
  WatchedRun run({"-w", "linear", "--max-time", "15", "--repeats", "5", "--timeout", "1"});
  REQUIRE(kill(run.process_of(pass), SIGSTOP) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.record()["status"] == "failed");
  CHECK_THAT(run.record()["reason"].get<std::string>(),
             Contains("was stopped, did not continue within --timeout, and was killed"));
  CHECK(run.left_nothing());
}

TEST_CASE("no process outlives a run that is killed", "[run]") {
  WatchedRun run({"-w", "linear", "--max-time", "15", "--repeats", "5"});
  const int repetition = run.process_of("first");
  REQUIRE(kill(run.id(), SIGKILL) == 0);
  CHECK(run.exit_code() == -1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const fs::path process = "/proc/" + std::to_string(repetition);
  // Nobody need have reaped it: a dead one has no command line.
  while (!contents_of(process / "cmdline").empty() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(contents_of(process / "cmdline").empty());
}

TEST_CASE("what a process refuses is said once, with its remedy", "[run]") {
  const RunCommand run;
  run.write("p.json", "no plan");
  const ProgramResult result = run({"-w", "linear", "--plan", "p.json", "-o", "r.json"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Catch::StartsWith("ptbench: 5 processes, about "));
  CHECK(result.errors.substr(result.errors.find('\n') + 1) ==
        "ptbench: error: plan file 'p.json' is not a plan (ptbench.plan/1)\n"
        "ptbench: remedy: remove it, so that it is written again, or name another file\n");
  CHECK(result.output.empty());
  CHECK_FALSE(fs::exists(run.path("r.json")));
}

TEST_CASE("a run of fixed length is not repeated", "[run]") {
  const RunCommand run;
  const ProgramResult result = run({"-w", "linear", "--steps", "3", "--repeats", "2"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("--repeats 2 with --steps"));
}

}  // namespace
}  // namespace ptbench::testing
