#include "src/comm/solo.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>

#include "src/base/error.h"
#include "tests/comm/meeting.h"
#include "tests/support/deferred_device.h"

namespace ptbench {
namespace {

using testing::kTimeout;

TEST_CASE("a world of one: collectives are the identity", "[comm]") {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  CHECK(solo.name() == "solo");
  CHECK(solo.rank() == 0);
  CHECK(solo.world_size() == 1);
  CHECK(&solo.memory() == &memory);

  std::array<float, 3> values{1, 2, 3};
  std::array<std::byte, 2> bytes{std::byte{4}, std::byte{5}};
  std::array<std::byte, 2> whole{};
  const auto reduced = solo.start_all_reduce(values_of(values), {});
  const auto gathered = solo.start_gather(bytes, whole, 0);
  const auto sent = solo.start_broadcast(bytes, 0);
  const auto met = solo.start_barrier();
  solo.wait(met, kTimeout);
  solo.wait(reduced, kTimeout);
  solo.wait(sent, kTimeout);
  solo.wait(gathered, kTimeout);
  CHECK(values == std::array<float, 3>{1, 2, 3});
  CHECK(bytes == std::array{std::byte{4}, std::byte{5}});
  CHECK(whole == bytes);
}

TEST_CASE("a world of one scales what it reduces", "[comm]") {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  std::array<float, 3> values{1, 2, 3};
  solo.wait(solo.start_all_reduce(values_of(values), {.scale = 0.5F}), kTimeout);
  CHECK(values == std::array<float, 3>{0.5F, 1, 1.5F});
  solo.wait(solo.start_reduce(values_of(values), 0, {.scale = 4}), kTimeout);
  solo.wait(solo.start_reduce_scatter(values_of(values), {.scale = 0.5F}), kTimeout);
  CHECK(values == std::array<float, 3>{1, 2, 3});
}

TEST_CASE("a world of one rounds what would travel in bf16", "[comm]") {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  // 1 + 2^-8 is a tie that goes to the even 1, and 3·2^-8 above one is half-way to 1 + 2^-6.
  std::array<float, 3> values{1.00390625F, 1.01171875F, -7};
  solo.wait(solo.start_all_reduce(values_of(values), {.wire = WireType::bf16}), kTimeout);
  CHECK(values == std::array<float, 3>{1, 1.015625F, -7});
}

TEST_CASE("a world of one: a queue that comes after a ticket takes nothing from who waits later",
          "[comm]") {
  testing::DeferredWorld world;
  testing::DeferredDevice device(world, {.topology = discover_topology(), .threads = 1});
  SoloCommunicator solo(device.memory());
  testing::DeferredQueue& work = device.communication();
  std::atomic<int> done = 0;
  const auto started_after_work = [&](Event& event) {
    work.give([&] { ++done; });
    work.record(event);
    return solo.start_all_gather({}, &event);
  };
  const auto early = work.make_event(EventClock::off);
  const auto late = work.make_event(EventClock::off);
  const auto first = started_after_work(*early);
  SECTION("the host, of another event") {
    const auto second = started_after_work(*late);
    solo.order(device.compute(), first, kTimeout);
    solo.wait(second, kTimeout);
  }
  SECTION("the host, of the same event") {
    solo.order(device.compute(), first, kTimeout);
    solo.wait(started_after_work(*early), kTimeout);
  }
  SECTION("the host, of the same event, recorded before the queue came") {
    const auto second = started_after_work(*early);
    solo.order(device.compute(), first, kTimeout);
    solo.wait(second, kTimeout);
  }
  SECTION("another queue") {
    const auto second = started_after_work(*late);
    solo.order(device.compute(), first, kTimeout);
    solo.order(device.transfer(), second, kTimeout);
    device.transfer().finish();
  }
  CHECK(done == 2);
}

}  // namespace
}  // namespace ptbench
