// Both ends of ptbench.steps/1, and what becomes of those who speak something else.
#include "src/measure/step_protocol.h"

#include <poll.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/base/error.h"
#include "src/process/local_socket.h"

namespace ptbench {
namespace {

using Catch::Contains;

/// A program at the other end of `grants`, which trains one step a turn.
class Program {
 public:
  explicit Program(const TurnGrants& grants)
      : thread_([this, name = grants.name()] {
          TurnClient client({.name = name,
                             .interrupted = [this] { return interrupted.load(); },
                             .rest = [this] { ++rests; },
                             .wake = [this] { ++wakes; }});
          while (const auto turn = client.next()) {
            last_turn = turn->number;
            client.end({.steps = turn->steps, .seconds = 2 * turn->seconds});
          }
        }) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::atomic<bool> interrupted = false;
  std::atomic<int> rests = 0;
  std::atomic<int> wakes = 0;
  std::atomic<Size> last_turn = -1;

 private:
  std::thread thread_;
};

/// Until the program waits for a turn, for ten seconds at the most.
void wait_for(TurnGrants& grants) {
  for (int look = 0; look < 1000 && !grants.is_waited_for(); ++look) {
    pollfd event{.fd = grants.descriptor(), .events = POLLIN, .revents = 0};
    (void)poll(&event, 1, 10);
    if (event.revents != 0) grants.look();
  }
  REQUIRE(grants.is_waited_for());
}

/// A program that says what the test wants.
Descriptor stranger(const TurnGrants& grants, std::string_view message) {
  int error_number = 0;
  Descriptor socket = connect_to(grants.name(), error_number);
  REQUIRE(socket.is_open());
  REQUIRE(send_message(socket, message));
  return socket;
}

}  // namespace

TEST_CASE("a program gets the turns that are granted, and rests before each", "[app]") {
  TurnGrants grants;
  Program program(grants);
  wait_for(grants);
  for (Size number = 5; number < 8; ++number) {
    grants.grant({.number = number, .seconds = 0.25, .steps = 3});
    wait_for(grants);
    CHECK(program.last_turn == number);
    CHECK(grants.taken().steps == 3);
    CHECK(grants.taken().seconds == 0.5);
  }
  grants.close();
  program.join();
  CHECK(program.rests == 4);
  CHECK(program.wakes == 4);
}

TEST_CASE("an interrupted program waits for no turn", "[app]") {
  TurnGrants grants;
  Program program(grants);
  wait_for(grants);
  program.interrupted = true;
  program.join();
  CHECK(program.last_turn == -1);
  grants.look();
  CHECK(grants.descriptor() == -1);
}

TEST_CASE("where nobody grants turns, a program says so", "[app]") {
  CHECK_THROWS_WITH(TurnClient({.name = "ptbench-nobody", .interrupted = {}}),
                    Contains("ptbench-nobody") && Contains("nobody grants"));
}

TEST_CASE("what is no ptbench.steps/1 is refused", "[app]") {
  TurnGrants grants;
  const auto [message, complaint] = GENERATE(
      table<std::string, std::string>({{"hello", "not a JSON object"},
                                       {"[1]", "not a JSON object"},
                                       {R"({"protocol": "ptbench.steps/9"})", "ptbench.steps/9"},
                                       {R"({"turn": 1, "steps": 3})", "'seconds'"},
                                       {R"({"turn": 1, "steps": -3, "seconds": 1})", "'steps'"},
                                       {R"({"turn": 1, "steps": 3, "seconds": -1})", "'seconds'"},
                                       {R"({"turn": 1, "steps": "3", "seconds": 1})", "'steps'"}}));
  const Descriptor socket = stranger(grants, message);
  CHECK_THROWS_WITH(grants.look(), Contains(complaint));
}

TEST_CASE("fields that are not known are skipped", "[app]") {
  TurnGrants grants;
  const Descriptor socket =
      stranger(grants, R"({"protocol": "ptbench.steps/1", "program": "train.py"})");
  grants.look();
  CHECK(grants.is_waited_for());
}

}  // namespace ptbench
