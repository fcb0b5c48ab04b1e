#include "tests/support/recording_communicator.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/comm/meeting.h"

namespace ptbench::testing {
namespace {

constexpr Communicator::Timeout kTimeout{7};

TEST_CASE("a recording communicator tells what was called, in order", "[comm]") {
  RecordingCommunicator communicator(3, 1);
  std::array<float, 6> values{};
  std::array<std::byte, 4> bytes{};
  const auto first = communicator.start_all_reduce(values_of(values), {.scale = 0.5F});
  (void)communicator.start_reduce(values_of(std::span(values).subspan(2)), 2, {});
  (void)communicator.start_broadcast(bytes, 0);
  (void)communicator.start_gather(bytes, {}, 0);
  const auto last = communicator.start_barrier();
  CHECK(communicator.outstanding() == 5);
  communicator.wait(first, kTimeout);
  CHECK(communicator.outstanding() == 4);
  communicator.wait(last, kTimeout);
  CHECK(communicator.outstanding() == 0);
  CHECK(communicator.texts() == std::vector<std::string>{"all_reduce 6", "reduce 4 to 2",
                                                         "broadcast 4 from 0", "gather 4 to 0",
                                                         "barrier", "wait 1", "wait 5"});
  CHECK(communicator.calls()[0].reduction.scale == 0.5F);
  CHECK(communicator.calls()[1].data == &values[2]);
  CHECK(communicator.calls_of("wait")[1].timeout == kTimeout);
  communicator.forget();
  CHECK(communicator.calls().empty());
}

TEST_CASE("a recording communicator does what its script says, when it is waited for", "[comm]") {
  RecordingCommunicator communicator(4, 0, RecordingCommunicator::alike(4));
  std::array<float, 2> values{1, 2};
  const auto ticket = communicator.start_all_reduce(values_of(values), {.scale = 0.5F});
  CHECK(values == std::array<float, 2>{1, 2});
  communicator.wait(ticket, kTimeout);
  communicator.wait(ticket, kTimeout);
  communicator.wait(communicator.start_all_gather(values_of(values)), kTimeout);
  CHECK(values == std::array<float, 2>{2, 4});
}

TEST_CASE("a script may end a wait as a rank's death would", "[comm]") {
  RecordingCommunicator communicator(2, 0, [](const RecordedCall& call, std::span<std::byte>) {
    if (call.name == "all_gather") throw run_error("rank 1 did not come");
  });
  std::array<float, 2> values{};
  CHECK_NOTHROW(communicator.wait(communicator.start_barrier(), kTimeout));
  CHECK_THROWS_AS(communicator.wait(communicator.start_all_gather(values_of(values)), kTimeout),
                  Error);
  CHECK_THROWS_AS(communicator.wait(Communicator::Ticket{9}, kTimeout), Defect);
}

}  // namespace
}  // namespace ptbench::testing
