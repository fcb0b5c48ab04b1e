#include "src/process/child_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "src/base/error.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using namespace std::string_literals;
using Duration = ChildProcess::Duration;

// Longer than any machine needs; no test waits for it to pass.
constexpr Duration kLong = std::chrono::seconds(60);

/// What a process said, and how it ended.
struct Heard {
  ChildExit ended;
  std::string output;
  std::string errors;
};

ChildCommand shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}};
}

Heard run(const std::string& script) {
  Heard heard;
  ChildCommand command = shell(script);
  command.on_output = [&](std::string_view text) { heard.output += text; };
  command.on_errors = [&](std::string_view text) { heard.errors += text; };
  ChildProcess child(std::move(command));
  heard.ended = child.wait(kLong).value();
  return heard;
}

/// A process that says "ready" on standard output and then does not end by itself.
class Sleeper {
 public:
  explicit Sleeper(const std::string& first = "") : child_(command(first)) {
    while (said_.find("ready") == std::string::npos)
      REQUIRE_FALSE(child_.wait(Duration(10)).has_value());
  }

  [[nodiscard]] ChildProcess& child() { return child_; }

 private:
  ChildCommand command(const std::string& first) {
    ChildCommand command = shell(first + " echo ready; while :; do sleep 0.01; done");
    command.on_output = [this](std::string_view text) { said_ += text; };
    return command;
  }

  std::string said_;
  ChildProcess child_;
};

/// The letter of /proc/PID/stat: 'Z' for one that nobody has reaped; '-' where there is no process.
char state_of(int id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? '-' : text.at(name_end + 2);
}

bool is_gone(int id) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (state_of(id) != '-' && state_of(id) != 'Z') {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(Duration(1));
  }
  return true;
}

TEST_CASE("a process tells its exit code and what it wrote on both streams", "[comm]") {
  const Heard heard = run("echo out; echo err >&2; exit 7");
  CHECK(heard.ended.code == 7);
  CHECK(heard.ended.signal == 0);
  CHECK_FALSE(heard.ended.overdue);
  CHECK(heard.output == "out\n");
  CHECK(heard.errors == "err\n");
}

TEST_CASE("a process gets its arguments as they are, and the environment", "[comm]") {
  std::string said;
  setenv("PTBENCH_CHILD_TEST", "inherited", 1);
  ChildProcess child({.program = "/bin/sh",
                      .arguments = {"-c", "echo \"$0|$1|$PTBENCH_CHILD_TEST\"", "a b", ""},
                      .on_output = [&](std::string_view text) { said += text; }});
  CHECK(child.wait(kLong).value().code == 0);
  unsetenv("PTBENCH_CHILD_TEST");
  CHECK(said == "a b||inherited\n");
}

TEST_CASE("a process that a signal ends tells which", "[comm]") {
  const Heard heard = run("kill -KILL $$");
  CHECK(heard.ended.code == -1);
  CHECK(heard.ended.signal == SIGKILL);
}

TEST_CASE("more than a pipe holds is read to its end", "[comm]") {
  const Heard heard =
      run("i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456"
          "789 >&2; i=$((i+1)); done");
  CHECK(heard.ended.code == 0);
  CHECK(heard.errors.size() == 164'000);
}

TEST_CASE("a grandchild that keeps the streams is not waited for", "[comm]") {
  const Heard heard = run("sleep 100 & echo $!; exit 3");
  CHECK(heard.ended.code == 3);
  CHECK(kill(std::stoi(heard.output), SIGKILL) == 0);
}

TEST_CASE("waiting ends with its time, and the process goes on", "[comm]") {
  Sleeper sleeper;
  CHECK_FALSE(sleeper.child().wait(Duration(0)).has_value());
  CHECK_FALSE(sleeper.child().wait(Duration(5)).has_value());
  CHECK(kill(sleeper.child().id(), 0) == 0);
}

TEST_CASE("a process is killed at its deadline", "[comm]") {
  Sleeper sleeper("trap '' TERM;");
  sleeper.child().end_within(Duration(1));
  const ChildExit ended = sleeper.child().wait(kLong).value();
  CHECK(ended.overdue);
  CHECK(ended.signal == SIGKILL);
  CHECK(sleeper.child().wait(Duration(0)).value().signal == SIGKILL);
}

TEST_CASE("a deadline that is set anew counts from then", "[comm]") {
  Sleeper sleeper;
  sleeper.child().end_within(Duration(0));
  sleeper.child().end_within(kLong);
  CHECK_FALSE(sleeper.child().wait(Duration(5)).has_value());
}

TEST_CASE("a process is asked to end before it is killed", "[comm]") {
  Sleeper polite("trap 'exit 9' TERM;");
  CHECK(polite.child().terminate(kLong).code == 9);
  Sleeper deaf("trap '' TERM;");
  CHECK(deaf.child().terminate(Duration(1)).signal == SIGKILL);
}

TEST_CASE("a process that ended gets no more signals", "[comm]") {
  ChildProcess child(shell("exit 4"));
  CHECK(child.wait(kLong).value().code == 4);
  child.send(SIGKILL);
  CHECK(child.terminate(Duration(0)).code == 4);
}

TEST_CASE("a process dies with the object that owns it, and is reaped", "[comm]") {
  int id = 0;
  {
    Sleeper sleeper;
    id = sleeper.child().id();
    ChildProcess other = std::move(sleeper.child());
    CHECK(other.id() == id);
    sleeper.child() = std::move(other);
    CHECK(kill(id, 0) == 0);
  }
  CHECK(state_of(id) == '-');
}

TEST_CASE("a process dies with the thread that started it", "[comm]") {
  std::unique_ptr<Sleeper> sleeper;
  std::thread([&] { sleeper = std::make_unique<Sleeper>(); }).join();
  CHECK(is_gone(sleeper->child().id()));
  CHECK(sleeper->child().wait(kLong).value().signal == SIGKILL);
}

TEST_CASE("a group gets the signals of its leader, and has ended when its last process has",
          "[comm]") {
  std::string said;
  // The one in the background outlives its leader, which the signal ends at once.
  ChildCommand command = shell(
      "(trap 'sleep 0.2; echo saved; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait");
  command.on_output = [&](std::string_view text) { said += text; };
  command.leads_group = true;
  ChildProcess child(std::move(command));
  while (said.find("ready") == std::string::npos)
    REQUIRE_FALSE(child.wait(Duration(10)).has_value());
  CHECK(getpgid(child.id()) == child.id());
  child.send(SIGTERM);
  CHECK(child.wait(kLong).value().signal == SIGTERM);
  CHECK(said == "ready\nsaved\n");
}

TEST_CASE("a group dies with its owner, and at its deadline", "[comm]") {
  const bool by_deadline = GENERATE(false, true);
  std::string said;
  ChildCommand command = shell("sleep 1000 & echo $!; wait");
  command.on_output = [&](std::string_view text) { said += text; };
  command.leads_group = true;
  auto child = std::make_unique<ChildProcess>(std::move(command));
  while (said.find('\n') == std::string::npos) REQUIRE_FALSE(child->wait(Duration(10)).has_value());
  if (by_deadline) {
    child->end_within(Duration(1));
    CHECK(child->wait(kLong).value().overdue);
  }
  child.reset();
  CHECK(is_gone(std::stoi(said)));
}

TEST_CASE("a process starts with no signal blocked", "[comm]") {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  sigaddset(&blocked, SIGTERM);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0);
  const Heard heard = run("grep -E '^Sig(Blk|Pnd)' /proc/self/status");
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  CHECK(heard.output == "SigPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n");
}

TEST_CASE("no descriptor of this process gets into another", "[comm]") {
  const std::string listing = "ls /proc/self/fd | tr '\\n' ' '";
  const Heard alone = run(listing);
  Sleeper first;
  Sleeper second;
  CHECK(run(listing).output == alone.output);
}

TEST_CASE("standard input is empty, and standard output leads nowhere unless it is wanted",
          "[comm]") {
  std::string errors;
  ChildCommand command = shell("cat; out=$(readlink /proc/$$/fd/1); echo $out >&2");
  command.on_errors = [&](std::string_view text) { errors += text; };
  ChildProcess child(std::move(command));
  CHECK(child.wait(kLong).value().code == 0);
  CHECK(errors == "/dev/null\n");
}

TEST_CASE("a process reads what it is given, as it is, and no more", "[comm]") {
  std::string text = "one line\n\0two"s + std::string(65'000, 'x');
  std::string output;
  ChildProcess cat({.program = "/bin/cat",
                    .on_output = [&](std::string_view more) { output += more; },
                    .input = text});
  REQUIRE(cat.wait(kLong));
  CHECK(output == text);
  text.resize(70'000);
  CHECK_THROWS_AS(ChildProcess({.program = "/bin/cat", .input = text}), Error);
}

TEST_CASE("exit codes are known where children were to be forgotten", "[comm]") {
  REQUIRE(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
  CHECK(run("exit 5").ended.code == 5);
  CHECK(signal(SIGCHLD, SIG_DFL) == SIG_DFL);
}

TEST_CASE("a program that cannot be started is a usage error that names it", "[comm]") {
  const testing::TemporaryDirectory directory;
  const std::string text = directory.write("no-program", "text");
  for (const std::string& program : {std::string("/no/such\x1b/program"), text}) {
    try {
      const ChildProcess child({.program = program});
      FAIL("it was started");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK_THAT(error.what(), Catch::Contains("program") && Catch::Contains("cannot be started"));
      CHECK_THAT(error.what(), !Catch::Contains("\x1b"));
    }
  }
}

}  // namespace
}  // namespace ptbench
