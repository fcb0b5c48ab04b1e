#include "src/comm/solo.h"

#include <array>
#include <catch2/catch.hpp>

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Communicator::Timeout kTimeout{100};

TEST_CASE("a world of one: collectives are the identity", "[comm]") {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  CHECK(solo.rank() == 0);
  CHECK(solo.world_size() == 1);
  CHECK(&solo.memory() == &memory);

  std::array<float, 3> values{1, 2, 3};
  std::array<std::byte, 2> bytes{std::byte{4}, std::byte{5}};
  const auto reduced = solo.start_all_reduce(values);
  const auto sent = solo.start_broadcast(bytes, 0);
  const auto met = solo.start_barrier();
  solo.wait(met, kTimeout);
  solo.wait(reduced, kTimeout);
  solo.wait(sent, kTimeout);
  CHECK(values == std::array<float, 3>{1, 2, 3});
  CHECK(bytes == std::array{std::byte{4}, std::byte{5}});
}

TEST_CASE("a world of one refuses what no rank can mean", "[comm]") {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  CHECK_THROWS_AS(solo.start_broadcast({}, 1), Defect);
  CHECK_THROWS_AS(solo.wait(Communicator::Ticket{1}, kTimeout), Defect);
}

}  // namespace
}  // namespace ptbench
