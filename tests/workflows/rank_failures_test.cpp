// Runs of several ranks whose processes are killed, stopped and interrupted: how they end, what
// they say and what they leave.
#include <fcntl.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "src/base/phase_board.h"
#include "src/comm/shm/shared_region.h"
#include "src/process/child_process.h"
#include "tests/run/command.h"
#include "tests/support/built_modules.h"

namespace ptbench::testing {
namespace {

namespace fs = std::filesystem;

using Catch::Contains;
using Catch::Matches;
using Words = std::vector<std::string>;

// Longer than any machine needs; no test waits for it to pass, and no rank's own deadline comes
// before it.
constexpr std::chrono::seconds kLong(90);
const std::string kNoDeadline = "--timeout=600";
// Long enough to be hit.
const Words kEndlessRanks{"-w",       "mlp",     "-b",       "16",       "--threads",
                          "1",        "--steps", "1000000",  "--warmup", "3",
                          "--verify", "off",     kNoDeadline};

/// In fresh processes that start the ranks. What is verified on a busy machine takes its time.
const Words kRepeated{"-w",        "linear", "--threads", "1",   "--max-time", "30",
                      "--repeats", "2",      "--verify",  "off", kNoDeadline};

/// The arguments of a process, each with a null character behind it. None of one that is dead,
/// reaped or not.
std::string arguments_of(int process) {
  return contents_of("/proc/" + std::to_string(process) + "/cmdline");
}

bool has_argument(int process, const std::string& argument) {
  return (std::string(1, '\0') + arguments_of(process))
             .find(std::string(1, '\0') + argument + std::string(1, '\0')) != std::string::npos;
}

/// The number behind an option such as "--region="; -1 where there is none.
int number_behind(int process, const std::string& option) {
  const std::string arguments = arguments_of(process);
  const std::size_t at = arguments.find(option);
  return at == std::string::npos ? -1 : std::stoi(arguments.substr(at + option.size()));
}

Words children_of(int process) {
  Words children;
  std::error_code gone;
  const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : fs::directory_iterator(tasks, gone)) {
    std::istringstream names(contents_of(task.path() / "children"));
    for (std::string name; names >> name;) children.push_back(name);
  }
  return children;
}

/// All below a process, the ranks' threads excepted.
std::vector<int> descendants_of(int process) {
  std::vector<int> found;
  for (const std::string& child : children_of(process)) {
    found.push_back(std::stoi(child));
    const std::vector<int> more = descendants_of(found.back());
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

/// `ptbench` in a session, thus a process group, and a temporary folder of its own. Every process
/// that is found is remembered.
class RankedRun {
 public:
  explicit RankedRun(const Words& arguments, const Words& environment = {})
      : process_(command(arguments, environment)) {}

  [[nodiscard]] int id() const { return process_.id(); }

  /// Waits until `suits`; the run must not end before.
  void until(const std::function<bool()>& suits) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!suits()) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      const auto ended = process_.wait(std::chrono::milliseconds(1));
      CAPTURE(errors_, contents_of(folder_.path() / "r.json"));
      REQUIRE_FALSE(ended.has_value());
    }
  }

  /// A process with this argument, once there is one.
  [[nodiscard]] int process_with(const std::string& argument) {
    int found = 0;
    until([&] {
      for (const int process : descendants_of(id())) {
        seen_.push_back(process);
        if (has_argument(process, argument)) found = process;
      }
      return found != 0;
    });
    return found;
  }
  [[nodiscard]] int rank(int number) { return process_with("--rank=" + std::to_string(number)); }

  /// The rank's process, stopped while it is in that phase.
  [[nodiscard]] int stopped_while(int number, RankPhase phase) {
    for (;;) {
      const int process = rank(number);
      const auto region = region_of(process);
      if (!region) continue;
      const std::span<PhaseBoard::Slot> slots = region->phases();
      const PhaseBoard board(slots);
      until([&] { return board.phase(number) >= phase || arguments_of(process).empty(); });
      (void)kill(process, SIGSTOP);
      if (board.phase(number) == phase && !arguments_of(process).empty()) return process;
      (void)kill(process, SIGCONT);
      CAPTURE(name_of(board.phase(number)), errors_);
      // Of a preparation; the ranks of the repetition after it come to the phase too.
      REQUIRE(board.phase(number) < phase);
    }
  }

  /// Rank 0's process, which saves and cannot end: who would read its record is stopped, and the
  /// pipe between them holds less.
  [[nodiscard]] int rank_that_saves() {
    const int process = stopped_while(0, RankPhase::measuring);
    const auto region = region_of(process);
    REQUIRE(region != nullptr);
    const std::string path = "/proc/" + std::to_string(process) + "/fd/1";
    const int pipe = open(path.c_str(), O_WRONLY | O_CLOEXEC);  // NOLINT(*-vararg)
    REQUIRE(fcntl(pipe, F_SETPIPE_SZ, 1) > 0);                  // NOLINT(*-vararg)
    REQUIRE(close(pipe) == 0);
    REQUIRE(kill(id(), SIGSTOP) == 0);
    REQUIRE(kill(process, SIGCONT) == 0);
    const std::span<PhaseBoard::Slot> slots = region->phases();
    until([&] { return PhaseBoard(slots).phase(0) == RankPhase::saving; });
    return process;
  }

  [[nodiscard]] int exit_code() {
    const ChildExit ended = process_.wait(kLong).value();
    CAPTURE(ended.signal);
    return ended.code;
  }

  /// Every process that was seen is dead, now or soon.
  [[nodiscard]] bool all_are_gone() const {
    const auto end = std::chrono::steady_clock::now() + kLong;
    const auto is_dead = [](int process) { return arguments_of(process).empty(); };
    while (!std::ranges::all_of(seen_, is_dead)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  [[nodiscard]] bool left_nothing() const {
    return all_are_gone() && fs::is_empty(folder_.path() / "scratch");
  }

  [[nodiscard]] const std::string& errors() const { return errors_; }
  [[nodiscard]] nlohmann::json result() const {
    return parse_json(contents_of(folder_.path() / "r.json"));
  }
  [[nodiscard]] nlohmann::json record() const { return result()["runs"].at(0); }
  [[nodiscard]] std::string reason() const { return record()["reason"].get<std::string>(); }

 private:
  /// What the ranks share, if `process` is a rank still.
  [[nodiscard]] static std::unique_ptr<SharedRegion> region_of(int process) {
    const int number = number_behind(process, "--region=");
    const int parent = parent_of(process);
    if (number < 0 || parent <= 0) return nullptr;
    const std::string path = "/proc/" + std::to_string(parent) + "/fd/" + std::to_string(number);
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);  // NOLINT(*-vararg)
    if (descriptor < 0) return nullptr;
    return std::make_unique<SharedRegion>(SharedRegion::open(descriptor));
  }

  [[nodiscard]] static int parent_of(int process) {
    const std::string stat = contents_of("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream rest(stat.substr(name_end + 1));
    char state = 0;
    int parent = 0;
    rest >> state >> parent;
    return parent;
  }

  [[nodiscard]] ChildCommand command(const Words& arguments, const Words& environment) {
    fs::create_directory(folder_.path() / "scratch");
    // As shells let jobs in the background ignore the one, and nohup the other.
    (void)std::signal(SIGINT, SIG_DFL);
    (void)std::signal(SIGHUP, SIG_DFL);
    Words words{"/usr/bin/env", "TMPDIR=" + (folder_.path() / "scratch").string(),
                "XDG_CACHE_HOME=" + (folder_.path() / "cache").string()};
    words.insert(words.end(), environment.begin(), environment.end());
    words.emplace_back(PTBENCH_EXECUTABLE);
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"-o", (folder_.path() / "r.json").string()});
    return {.program = "/usr/bin/setsid",
            .arguments = words,
            .on_errors = [this](std::string_view text) { errors_ += text; }};
  }

  TemporaryDirectory folder_;
  std::string errors_;
  std::vector<int> seen_;
  ChildProcess process_;
};

/// Where ranks train: tests/cuda has them on emulated GPUs.
std::string device_of_ranks() {
  const char* const device = std::getenv("PTBENCH_TEST_RANKS_DEVICE");
  return device == nullptr ? "cpu" : device;
}

Words run_of_ranks(int ranks, const Words& arguments) {
  Words words{"run", "-s", "ddp", "-n", std::to_string(ranks), "--device", device_of_ranks()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a rank that is killed fails the run, whatever it was busy with", "[workflows]") {
  struct Death {
    int ranks;
    int rank;
    RankPhase phase;
    Words arguments;
  };
  const Words whole{"-w", "mlp", "-b", "128", "--threads", "1", "--steps", "30", kNoDeadline};
  Words unverified = whole;
  unverified.insert(unverified.end(), {"--verify", "off"});
  const bool on_cpu = device_of_ranks() == "cpu";
  Words over_gloo = kEndlessRanks;
  if (on_cpu && is_built("gloo")) over_gloo.insert(over_gloo.end(), {"--communicator", "gloo"});
  const auto death = GENERATE_COPY(values<Death>({
      {2, 0, RankPhase::choosing, whole},
      {2, 1, RankPhase::measuring, over_gloo},
      {2, 1, RankPhase::verifying, whole},
      {3, 2, RankPhase::measuring, kEndlessRanks},
      {2, 0, RankPhase::measuring, kEndlessRanks},
      {2, 0, RankPhase::timing_phases, unverified},
  }));
  if (!on_cpu && death.phase == RankPhase::timing_phases) return;  // emulated devices have no times
  RankedRun run(run_of_ranks(death.ranks, death.arguments));
  for (int rank = 0; rank < death.ranks; ++rank) (void)run.rank(rank);
  const int victim = run.stopped_while(death.rank, death.phase);
  REQUIRE(kill(victim, SIGKILL) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CAPTURE(name_of(death.phase), run.errors());
  CHECK(run.record()["status"] == "failed");
  CHECK_THAT(run.reason(),
             Matches("rank " + std::to_string(death.rank) + " on [^ ]+, while " +
                     std::string(name_of(death.phase)) + ", was killed by signal 9.*"));
  CHECK(count_of(run.errors(), "error:") == 0);  // the summary says it
}

TEST_CASE("a rank that is killed while it starts fails the run", "[workflows]") {
  RankedRun run(run_of_ranks(2, kEndlessRanks));
  REQUIRE(kill(run.rank(1), SIGKILL) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK_THAT(run.reason(), Contains("rank 1 on ") && Contains("was killed by signal 9"));
}

TEST_CASE("a rank that is killed while it saves fails the run", "[workflows]") {
  RankedRun run(run_of_ranks(
      2, {"-w", "linear", "--threads", "1", "--steps", "20000", "--verify", "off", kNoDeadline}));
  (void)run.rank(1);
  REQUIRE(kill(run.rank_that_saves(), SIGKILL) == 0);
  REQUIRE(kill(run.id(), SIGCONT) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK(run.record()["status"] == "failed");
  CHECK_THAT(run.reason(), Matches("rank 0 on [^ ]+, while saving, was killed by signal 9.*"));
}

TEST_CASE("a rank that is stopped is killed when the others' time is over", "[workflows]") {
  const int rank = GENERATE(0, 1);
  Words arguments = kEndlessRanks;
  arguments.back() = "--timeout=6";  // a busy machine may keep ranks waiting for seconds
  RankedRun run(run_of_ranks(2, arguments));
  (void)run.rank(1 - rank);
  (void)run.stopped_while(rank, RankPhase::measuring);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK(run.record()["status"] == "failed");
  CHECK_THAT(run.reason(), Matches("rank " + std::to_string(rank) +
                                   " on [^ ]+, while measuring, .*is stopped.*"));
}

TEST_CASE("a rank that is stopped while nobody waits for it has a deadline too", "[workflows]") {
  RankedRun run(run_of_ranks(2, {"-w", "mlp", "--threads", "1", "--steps", "5", "--timeout", "1"}));
  (void)run.rank(1);
  (void)run.stopped_while(0, RankPhase::choosing);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK_THAT(run.reason(), Matches("rank 0 on [^ ]+, while choosing operators, made no progress "
                                   "within 1 s: it is stopped; give a longer --timeout, .*"));
}

TEST_CASE("a rank that goes on within its time does not matter", "[workflows]") {
  RankedRun run(run_of_ranks(
      2, {"-w", "linear", "--threads", "1", "--steps", "20000", "--verify", "off", kNoDeadline}));
  const int rank = run.stopped_while(1, RankPhase::measuring);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // several looks at it
  REQUIRE(kill(rank, SIGCONT) == 0);
  CHECK(run.exit_code() == 0);
  CHECK(run.record()["status"] == "ok");
}

TEST_CASE("training that diverges on ranks is told once, by the rank that saw it", "[workflows]") {
  RankedRun run(run_of_ranks(2, {"-w", "mlp", "-b", "16", "--threads", "1", "--steps", "1000",
                                 "--lr", "1e6", "--verify", "off", kNoDeadline}));
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK(run.record()["status"] == "failed");
  CHECK_THAT(run.reason(), Matches("rank [01] on [^ ]+, while [a-z ]+: the loss of step .*"));
  CHECK(count_of(run.errors(), "loss of step") == 0);
  // What rank 0 knew by then is in the record too.
  const nlohmann::json record = run.record();
  CHECK(count_of(record["warnings"].dump(), "non-finite-loss") == 1);
  CHECK(record["loss"]["first"].is_number());
  CHECK(record["strategy"]["communicator"] == "shm");
}

TEST_CASE("what one rank refuses ends all with one error", "[workflows]") {
  const TemporaryDirectory folder;
  const std::string plan = folder.write("plan.json", "no plan");
  RankedRun run(run_of_ranks(
      2, {"-w", "linear", "--threads", "1", "--steps", "5", "--plan", plan, kNoDeadline}));
  CHECK(run.exit_code() == 1);
  CHECK(run.left_nothing());
  CHECK(count_of(run.errors(), "ptbench: error: ") == 1);
  CHECK_THAT(run.errors(),
             Contains("rank 0 on ") && Contains("is not a plan") && Contains("ptbench: remedy: "));
}

TEST_CASE("no rank outlives the process that started it", "[workflows]") {
  RankedRun run(run_of_ranks(3, kEndlessRanks));
  for (const int rank : {0, 1, 2}) (void)run.rank(rank);
  REQUIRE(kill(run.id(), SIGKILL) == 0);
  CHECK(run.exit_code() == -1);
  CHECK(run.all_are_gone());
}

TEST_CASE("a repetition that is killed takes its ranks with it and fails the run", "[workflows]") {
  RankedRun run(run_of_ranks(2, kRepeated));
  const int repetition = run.process_with("--pass=first");
  run.until([&] { return children_of(repetition).size() == 2; });
  (void)run.rank(1);
  REQUIRE(kill(repetition, SIGKILL) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK_THAT(run.reason(), Contains("repetition 1 was killed by signal 9"));
}

TEST_CASE("a rank of a repetition that is killed is named by the run", "[workflows]") {
  RankedRun run(run_of_ranks(2, kRepeated));
  const int repetition = run.process_with("--pass=first");
  run.until([&] { return children_of(repetition).size() == 2; });
  REQUIRE(kill(run.rank(1), SIGKILL) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  CHECK_THAT(run.reason(), Contains("rank 1 on ") && Contains("was killed by signal 9"));
}

TEST_CASE("Ctrl-C saves what ranks have measured", "[workflows]") {
  struct Request {
    int signal;
    bool reaches_all;
    Words arguments;
  };
  const Words repeated{"-w", "linear",   "--threads", "1",        "--max-time",
                       "8",  "--verify", "off",       kNoDeadline};
  const auto request = GENERATE_COPY(values<Request>({{SIGINT, true, kEndlessRanks},
                                                      {SIGTERM, false, kEndlessRanks},
                                                      {SIGHUP, true, kEndlessRanks},
                                                      {SIGINT, true, repeated},
                                                      {SIGTERM, true, repeated}}));
  RankedRun run(run_of_ranks(2, request.arguments));
  if (request.arguments == repeated) (void)run.process_with("--pass=next");
  const int rank = run.stopped_while(0, RankPhase::measuring);
  REQUIRE(kill(rank, SIGCONT) == 0);
  REQUIRE(kill(request.reaches_all ? -run.id() : run.id(), request.signal) == 0);
  CHECK(run.exit_code() == 130);
  CHECK(run.left_nothing());
  CAPTURE(run.errors());
  CHECK(run.errors().find("error") == std::string::npos);
  CHECK(run.record()["status"] == "interrupted");
  CHECK_THAT(run.reason(), Contains("stopped by a signal"));
  CHECK_FALSE(run.record()["samples"]["step_seconds"].empty());
}

TEST_CASE("a stop of all processes while they measure is noticed", "[workflows]") {
  RankedRun run(run_of_ranks(2, kEndlessRanks));
  (void)run.stopped_while(0, RankPhase::measuring);
  REQUIRE(kill(-run.id(), SIGSTOP) == 0);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  REQUIRE(kill(-run.id(), SIGCONT) == 0);
  REQUIRE(kill(run.id(), SIGINT) == 0);
  CHECK(run.exit_code() == 130);
  const nlohmann::json record = run.record();
  CHECK_THAT(record["warnings"].dump(), Contains("stood-still"));
  CHECK(std::ranges::any_of(record["samples"]["slices"],
                            [](const nlohmann::json& slice) { return slice["clean"] == false; }));
}

TEST_CASE("who asks one rank to end interrupts the run", "[workflows]") {
  const int rank = GENERATE(0, 1);
  RankedRun run(run_of_ranks(2, kEndlessRanks));
  (void)run.rank(1 - rank);
  const int process = run.stopped_while(rank, RankPhase::measuring);
  REQUIRE(kill(process, SIGCONT) == 0);
  REQUIRE(kill(process, SIGTERM) == 0);
  CHECK(run.exit_code() == 130);
  CHECK(run.left_nothing());
  CHECK(run.record()["status"] == "interrupted");
}

TEST_CASE("a sweep goes on after a row whose rank was killed", "[workflows]") {
  RankedRun run({"sweep", "-w", "linear", "-s", "ddp", "-n", "2", "-b", "16,32", "--rounds", "1",
                 "--threads", "1", "--max-time", "1", "--verify", "off", kNoDeadline});
  REQUIRE(kill(run.rank(1), SIGKILL) == 0);
  CHECK(run.exit_code() == 2);
  CHECK(run.left_nothing());
  const nlohmann::json result = run.result();
  int failed = 0;
  for (const auto& row : result["runs"]) {
    if (row["status"] == "ok") continue;
    ++failed;
    CHECK(row["status"] == "failed");
    CHECK_THAT(row["reason"].get<std::string>(),
               Contains("rank 1 on ") && Contains("was killed by signal 9"));
  }
  CHECK(failed == 1);
  CHECK(result["runs"].size() >= 2);
}

TEST_CASE("what ranks say is labelled", "[workflows]") {
  // libgomp, which oneDNN brings, says this on standard error when it is loaded.
  RankedRun run(run_of_ranks(2, {"-w", "linear", "--threads", "1", "--steps", "5"}),
                {"OMP_DISPLAY_ENV=true"});
  CHECK(run.exit_code() == 0);
  CHECK_THAT(run.errors(),
             Contains("\n[rank 0] OPENMP DISPLAY") && Contains("\n[rank 1] OPENMP DISPLAY"));
}

}  // namespace ptbench::testing
