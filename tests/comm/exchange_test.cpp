#include "src/comm/exchange.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/comm/solo.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"
#include "tests/support/recording_communicator.h"

namespace ptbench::testing {
namespace {

std::vector<Size> exchanged(Communicator& communicator) {
  const std::array<Size, 2> own{communicator.rank(), 10 * communicator.rank()};
  std::vector<Size> all(own.size() * static_cast<std::size_t>(communicator.world_size()), -1);
  exchange(communicator, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)),
           kTimeout);
  return all;
}

TEST_CASE("an exchange gives every rank what all have, by rank", "[comm]") {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  CHECK(exchanged(solo) == std::vector<Size>{0, 0});
  for (const Size world_size : {1, 2, 4}) {
    std::vector<Size> expected;
    for (Size rank = 0; rank < world_size; ++rank)
      expected.insert(expected.end(), {rank, 10 * rank});
    std::vector<std::vector<Size>> seen(static_cast<std::size_t>(world_size));
    ThreadGroup(world_size, 1).run([&](Communicator& communicator) {
      seen[static_cast<std::size_t>(communicator.rank())] = exchanged(communicator);
    });
    for (const std::vector<Size>& all : seen) CHECK(all == expected);
  }
}

TEST_CASE("an exchange goes by way of rank 0, and never waits longer than it may", "[comm]") {
  for (const Size rank : {0, 1}) {
    RecordingCommunicator recording(2, rank);
    (void)exchanged(recording);
    CHECK(recording.texts() ==
          std::vector<std::string>{"gather 16 to 0", "wait 1", "broadcast 32 from 0", "wait 2"});
    for (const RecordedCall& wait : recording.calls_of("wait")) CHECK(wait.timeout == kTimeout);
  }
}

}  // namespace
}  // namespace ptbench::testing
