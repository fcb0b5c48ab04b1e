// Ranks that are this very program: hidden test cases play them.
#include "src/ranks/rank_processes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "src/base/phase_board.h"
#include "src/comm/shared_memory.h"
#include "src/comm/shared_region.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Catch::Matches;
using std::chrono::milliseconds;

constexpr milliseconds kLong = std::chrono::minutes(10);
constexpr const char* kRegion = "PTBENCH_TEST_REGION";

/// A rank's side of a test; it ends the process.
class Part {
 public:
  explicit Part(Size rank)
      : region_(SharedRegion::open(descriptor())), communicator_(region_, rank) {
    const std::span<PhaseBoard::Slot> slots = region_.phases();
    PhaseBoard(slots).enter(rank, RankPhase::measuring);
  }

  /// True once all have come; false where another rank gave up.
  bool meet() {
    try {
      communicator_.wait(communicator_.start_barrier(), kLong);
      return true;
    } catch (const Error& error) {
      said_ = error.what();
      return false;
    }
  }
  void give_up(std::string_view reason) { communicator_.abort(reason); }
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  static int descriptor() {
    const char* text = std::getenv(kRegion);  // NOLINT(concurrency-mt-unsafe): one thread
    return text == nullptr ? -1 : std::atoi(text);
  }

  SharedRegion region_;
  SharedMemoryCommunicator communicator_;
  std::string said_;
};

[[noreturn]] void end(int code, const std::string& errors = {}) {
  std::fputs(errors.c_str(), stderr);
  std::fflush(nullptr);
  _exit(code);
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

/// Ranks that play these parts, each a tag of a hidden test case.
RankOutcome play(const std::vector<std::string>& parts, milliseconds timeout = kLong) {
  const SharedRegion region = SharedRegion::create(static_cast<Size>(parts.size()), 1 << 20);
  RankProcesses processes{.timeout = timeout, .interrupted = [] { return false; }};
  for (const std::string& part : parts) processes.arguments.push_back({"[" + part + "]"});
  setenv(kRegion, std::to_string(region.descriptor()).c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  RankOutcome outcome = run_ranks(region, processes);
  unsetenv(kRegion);  // NOLINT(concurrency-mt-unsafe)
  return outcome;
}

}  // namespace

TEST_CASE("rank 0 ends well", "[.][rank-0-ends]") { end(0); }

TEST_CASE("rank 0 throws and takes its time to say so", "[.][rank-0-throws]") {
  Part part(0);
  part.give_up("an error ended it");
  std::this_thread::sleep_for(milliseconds(300));
  end(2, "a message\nptbench: error: rank 0: too large\nptbench: remedy: use less\n");
}

TEST_CASE("rank 0 gives up and never ends", "[.][rank-0-hangs]") {
  Part part(0);
  part.give_up("rank 0: no more");
  sleep_for_ever();
}

TEST_CASE("rank 0 refuses before it joins", "[.][rank-0-refuses]") {
  end(1, "ptbench: error: no such file\nptbench: remedy: name another\n");
}

TEST_CASE("rank 0 only sleeps", "[.][rank-0-sleeps]") {
  const Part part(0);
  sleep_for_ever();
}

TEST_CASE("rank 1 waits for the others", "[.][rank-1-waits]") {
  Part part(1);
  if (part.meet()) end(0);
  end(2, "ptbench: error: " + part.said() + "\n");
}

TEST_CASE("rank 1 is killed", "[.][rank-1-dies]") {
  const Part part(1);
  (void)raise(SIGKILL);
}

TEST_CASE("rank 1 is asked to end", "[.][rank-1-is-asked]") {
  const Part part(1);
  (void)raise(SIGTERM);
}

TEST_CASE("rank 2 waits for the others", "[.][rank-2-waits]") {
  Part part(2);
  end(part.meet() ? 0 : 2, "ptbench: error: " + part.said() + "\n");
}

TEST_CASE("the rank that gave up first is blamed, however late it says why", "[app]") {
  const RankOutcome outcome = play({"rank-0-throws", "rank-1-waits", "rank-2-waits"});
  REQUIRE(outcome.error);
  CHECK_THAT(outcome.error->what(), Matches("rank 0 on [^ ]+, while measuring: too large"));
  CHECK(outcome.error->remedy() == "use less");
  CHECK(outcome.error->code() == ExitCode::failed);
  CHECK_FALSE(outcome.interrupted);
}

TEST_CASE("a rank that gives up and does not end is killed, and its reason told", "[app]") {
  const RankOutcome outcome = play({"rank-0-hangs", "rank-1-waits"});
  REQUIRE(outcome.error);
  CHECK_THAT(outcome.error->what(), Matches("rank 0 on [^ ]+, while measuring: no more"));
}

TEST_CASE("what a rank refuses keeps its exit code and remedy", "[app]") {
  const RankOutcome outcome = play({"rank-0-refuses", "rank-1-waits"});
  REQUIRE(outcome.error);
  CHECK(outcome.error->code() == ExitCode::usage);
  CHECK_THAT(outcome.error->what(), Matches("rank 0 on [^ ]+, while starting: no such file"));
  CHECK(outcome.error->remedy() == "name another");
}

TEST_CASE("a rank that is killed is blamed, not those who waited for it", "[app]") {
  const RankOutcome outcome = play({"rank-0-sleeps", "rank-1-dies", "rank-2-waits"});
  REQUIRE(outcome.error);
  CHECK_THAT(outcome.error->what(),
             Matches("rank 1 on [^ ]+, while measuring, was killed by signal 9.*"));
}

TEST_CASE("a rank that nobody will hear from again lets the others go", "[app]") {
  const RankOutcome outcome = play({"rank-0-ends", "rank-1-waits"});
  CHECK_FALSE(outcome.error);
  CHECK_FALSE(outcome.interrupted);
}

TEST_CASE("a rank that is asked to end interrupts all", "[app]") {
  const RankOutcome outcome = play({"rank-0-sleeps", "rank-1-is-asked"});
  CHECK(outcome.interrupted);
}

TEST_CASE("ranks that sleep without progress are ended", "[app]") {
  const RankOutcome outcome = play({"rank-0-sleeps", "rank-1-waits"}, milliseconds(200));
  REQUIRE(outcome.error);
  CHECK_THAT(outcome.error->what(), Contains("on ") && Contains("while measuring, made no progress "
                                                                "within 0.2 s"));
}

}  // namespace ptbench
