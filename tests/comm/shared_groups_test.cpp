// Channels of shared memory: who has them, and what is said in them of ranks that do not come.
#include <sys/stat.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;
using testing::kShort;
using testing::kTimeout;
using testing::meet;
using testing::message_of;
using testing::ThreadGroup;

TEST_CASE("errors in a group name the ranks of the world", "[comm]") {
  const ThreadGroup ranks(5);
  const auto failures = ranks.failures([](SharedMemoryCommunicator& shared) {
    // Ranks 4, 3 and 1 in this order.
    const bool is_in = shared.rank() == 1 || shared.rank() >= 3;
    const auto group = shared.split(is_in ? 1 : 0, -shared.rank());
    if (shared.rank() == 1 || shared.rank() == 3) {
      std::array<std::byte, 4> bytes{};
      group->wait(group->start_broadcast(bytes, 2), 300ms);
    }
  });
  CHECK_FALSE(failures[4]);
  std::size_t late = 0;
  for (const std::size_t rank : {1U, 3U}) {
    const std::string message = message_of(failures[rank]);
    const std::string own = "rank " + std::to_string(rank);
    CHECK_THAT(message, Catch::StartsWith(
                            own + ": broadcast of 4 bytes from rank 1 among ranks 4, 3 and 1: "));
    CHECK_THAT(message, Contains("rank 4 did not come within 0.3 s"));
    if (message.find("gave up") == std::string::npos) ++late;
  }
  CHECK(late >= 1);
}

TEST_CASE("unlike operations in a group are told by the ranks of the world", "[comm]") {
  const ThreadGroup ranks(3);
  const auto failures = ranks.failures([](SharedMemoryCommunicator& shared) {
    const auto group = shared.split(shared.rank() == 0 ? 0 : 1, 0);
    if (shared.rank() == 0) return;
    meet(*group);
    std::array<float, 2> values{};
    group->wait(shared.rank() == 1 ? group->start_barrier()
                                   : group->start_all_reduce(values_of(values), {}),
                kTimeout);
  });
  CHECK_FALSE(failures[0]);
  for (const std::size_t rank : {1U, 2U})
    CHECK_THAT(message_of(failures[rank]),
               Contains("operation number 2 among ranks 1 and 2 differs") && Contains("barrier") &&
                   Contains("all_reduce of 8 bytes"));
}

TEST_CASE("messages that are not sent or received are told", "[comm]") {
  for (const bool sends : {true, false}) {
    const ThreadGroup ranks(2);
    const auto failures = ranks.failures([&](SharedMemoryCommunicator& shared) {
      if (shared.rank() == 1) return;
      std::array<std::byte, 16> bytes{};
      shared.wait(sends ? shared.start_send(bytes, 1) : shared.start_receive(bytes, 1), kShort);
    });
    CHECK(message_of(failures[0]) ==
          (sends
               ? "rank 0: send of 16 bytes to rank 1: rank 1 did not receive it within 0.02 s"
               : "rank 0: receive of 16 bytes from rank 1: rank 1 did not send it within 0.02 s"));
  }
}

TEST_CASE("a rank that leaves a message unfinished gives up", "[comm]") {
  const ThreadGroup ranks(2);
  const auto failures = ranks.failures([](SharedMemoryCommunicator& shared) {
    const auto group = shared.split(0, 0);
    std::array<std::byte, 16> bytes{};
    if (shared.rank() == 1) (void)group->start_receive(bytes, 0);
    if (shared.rank() == 0) meet(*group);
  });
  CHECK_FALSE(failures[1]);
  CHECK(message_of(failures[0]) ==
        "rank 0: barrier among ranks 0 and 1: rank 1 gave up: it left with operations outstanding");
}

TEST_CASE("a rank may be in sixteen groups at once", "[comm]") {
  const ThreadGroup ranks(2);
  const auto failures = ranks.failures([](SharedMemoryCommunicator& shared) {
    std::vector<std::unique_ptr<Communicator>> groups;
    for (std::size_t i = 0; i < shared::kMostGroups; ++i)
      groups.push_back(shared.split(0, shared.rank()));
    for (const auto& group : groups) meet(*group);
    // One that ends makes room for one.
    groups.erase(groups.begin() + 5);
    meet(shared);
    groups.push_back(shared.split(shared.rank(), 0));
    meet(*groups.back());
    (void)shared.split(0, 0);
  });
  for (const std::size_t rank : {0U, 1U}) {
    REQUIRE(failures[rank]);
    CHECK_THAT(message_of(failures[rank]),
               Contains("no channel is left for another group of rank") && Contains("16 at once"));
  }
}

TEST_CASE("groups without a common rank share a channel", "[comm]") {
  const ThreadGroup ranks(4);
  CHECK_NOTHROW(ranks.run([](SharedMemoryCommunicator& shared) {
    std::vector<std::unique_ptr<Communicator>> groups;
    for (std::size_t i = 0; i < shared::kMostGroups; ++i)
      groups.push_back(shared.split(shared.rank() / 2, 0));
    for (const auto& group : groups) meet(*group);
  }));
}

TEST_CASE("a channel is free again once all ranks have left its group", "[comm]") {
  const ThreadGroup ranks(3);
  CHECK_NOTHROW(ranks.run([](SharedMemoryCommunicator& shared) {
    auto all = shared.split(0, 0);
    meet(*all);
    if (shared.rank() == 0) all.reset();
    // Rank 0 has left the channel, but ranks 1 and 2 have not: this group may not have it.
    const auto pair = shared.split(shared.rank() < 2 ? 0 : 1, 0);
    for (int round = 0; round < 1000; ++round) meet(*pair);
    if (shared.rank() != 0) all.reset();
    meet(shared);
    // Nobody is in it: messages and collectives of another group of other ranks begin anew.
    const auto rest = shared.split(shared.rank() > 0 ? 0 : 1, 0);
    std::array<float, 1> value{2};
    rest->wait(rest->start_all_reduce(values_of(value), {}), kTimeout);
    if (value[0] != 2 * static_cast<float>(rest->world_size())) throw Defect("a wrong sum");
  }));
}

TEST_CASE("messages of earlier groups are not taken for those of later ones", "[comm]") {
  const ThreadGroup ranks(2);
  CHECK_NOTHROW(ranks.run([](SharedMemoryCommunicator& shared) {
    for (Size round = 0; round < 50; ++round) {
      const auto group = shared.split(0, 0);
      for (Size message = 0; message < round % 5; ++message) {
        Size value = shared.rank() == 0 ? 100 * round + message : -1;
        const auto bytes = std::as_writable_bytes(std::span(&value, 1));
        group->wait(
            shared.rank() == 0 ? group->start_send(bytes, 1) : group->start_receive(bytes, 0),
            kTimeout);
        if (value != 100 * round + message) throw Defect("another message");
      }
    }
  }));
}

TEST_CASE("control messages come through while data are on their way", "[comm]") {
  constexpr int kRounds = 200;
  const ThreadGroup ranks(3);
  CHECK_NOTHROW(ranks.run([](SharedMemoryCommunicator& shared) {
    ControlChannel control = testing::control_of(shared);
    for (int round = 0; round < kRounds; ++round) {
      std::array<float, 10> values{};
      values.fill(1);
      const auto ticket = shared.start_all_reduce(values_of(values), {});
      // The others need this rank's part of the sum before they say anything.
      if (shared.rank() != 0) shared.wait(ticket, kTimeout);
      int told = shared.rank() == 0 ? round : -1;
      control.barrier(kTimeout);
      control.broadcast(std::as_writable_bytes(std::span(&told, 1)), 0, kTimeout);
      shared.wait(ticket, kTimeout);
      if (told != round || values.back() != 3) throw Defect("something else was told");
    }
  }));
}

TEST_CASE("a rank counts its work in all channels, for who watches it", "[comm]") {
  const ThreadGroup ranks(2);
  std::array<std::uint64_t, 3> counts{};
  ranks.run([&](SharedMemoryCommunicator& shared) {
    const auto note = [&](std::size_t at) {
      if (shared.rank() == 0)
        counts.at(at) = ranks.region().rank_block(0).worked.load(std::memory_order_relaxed);
    };
    meet(shared);
    note(0);
    const auto control = shared.make_control();
    meet(*control);
    note(1);
    const auto group = shared.split(0, 0);
    std::array<std::byte, 4> bytes{};
    group->wait(shared.rank() == 0 ? group->start_receive(bytes, 1) : group->start_send(bytes, 0),
                kTimeout);
    note(2);
  });
  CHECK(counts[0] == 1);
  CHECK(counts[1] == 2);
  CHECK(counts[2] > 3);
}

TEST_CASE("channels that nobody uses take no memory", "[comm]") {
  constexpr Bytes kBlock = 512;  // as fstat(2) counts
  const SharedRegion region = SharedRegion::create(64, 1);
  struct stat status{};
  REQUIRE(fstat(region.descriptor(), &status) == 0);
  // The rings and mailboxes of so many ranks would be 90 MiB.
  CHECK(static_cast<Bytes>(status.st_blocks) * kBlock < Bytes{8} << 20U);
}

}  // namespace
}  // namespace ptbench
