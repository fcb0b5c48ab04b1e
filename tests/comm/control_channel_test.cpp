#include "src/comm/control_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"
#include "tests/support/recording_communicator.h"

namespace ptbench::testing {
namespace {

// Beyond a piece, and no whole number of them.
constexpr std::size_t kLong = (std::size_t{5} << 20U) / 2 + 3;

std::byte byte_of(Size rank, std::size_t index) {
  return static_cast<std::byte>((static_cast<Size>(index) * 7 + rank * 31) % 253);
}

std::vector<std::byte> bytes_of_rank(Size rank, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = byte_of(rank, i);
  return bytes;
}

std::vector<std::byte> bytes_of_ranks(Size ranks, std::size_t count) {
  std::vector<std::byte> all;
  for (Size rank = 0; rank < ranks; ++rank) {
    const std::vector<std::byte> part = bytes_of_rank(rank, count);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST_CASE("control messages of any length come to all ranks", "[comm]") {
  for (const Size ranks : {1, 3})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kLong}) {
      INFO(fmt::format("{} ranks, {} bytes", ranks, bytes));
      std::vector<int> wrong(static_cast<std::size_t>(ranks));
      // Less shared memory than a message takes.
      ThreadGroup(ranks, 1).run([&](SharedMemoryCommunicator& shared) {
        ControlChannel control = control_of(shared);
        int& own_wrong = wrong[static_cast<std::size_t>(control.rank())];
        const Size root = ranks - 1;
        std::vector<std::byte> told = bytes_of_rank(control.rank(), bytes);
        control.broadcast(told, root, kTimeout);
        if (told != bytes_of_rank(root, bytes)) ++own_wrong;

        const std::vector<std::byte> own = bytes_of_rank(control.rank(), bytes);
        const bool is_root = control.rank() == root;
        const auto together = static_cast<std::size_t>(ranks) * bytes;
        std::vector<std::byte> whole(is_root ? together : 0);
        control.gather(own, whole, root, kTimeout);
        if (is_root && whole != bytes_of_ranks(ranks, bytes)) ++own_wrong;

        std::vector<std::byte> all(together);
        control.exchange(own, all, kTimeout);
        if (all != bytes_of_ranks(ranks, bytes)) ++own_wrong;

        const std::vector<Size> squares =
            control.of_all_ranks(control.rank() * control.rank(), kTimeout);
        for (Size rank = 0; rank < ranks; ++rank)
          if (squares[static_cast<std::size_t>(rank)] != rank * rank) ++own_wrong;
        control.barrier(kTimeout);
      });
      CHECK(wrong == std::vector<int>(static_cast<std::size_t>(ranks)));
    }
}

TEST_CASE("a control channel of a world of one changes nothing", "[comm]") {
  HostMemorySource memory;
  ControlChannel control = control_alone(memory);
  CHECK(control.rank() == 0);
  CHECK(control.world_size() == 1);
  std::vector<std::byte> bytes = bytes_of_rank(4, kLong);
  control.broadcast(bytes, 0, kTimeout);
  CHECK(bytes == bytes_of_rank(4, kLong));
  std::vector<std::byte> whole(kLong);
  control.gather(bytes, whole, 0, kTimeout);
  CHECK(whole == bytes);
  CHECK(control.of_all_ranks(7, kTimeout) == std::vector<int>{7});
}

TEST_CASE("control messages go by way of rank 0, each waited for as long as it may", "[comm]") {
  for (const Size rank : {0, 1}) {
    RecordedControl control(2, rank);
    std::array<std::byte, 6> own{};
    std::array<std::byte, 12> all{};
    control.channel.exchange(own, all, kTimeout);
    control.channel.barrier(kTimeout);
    CHECK(control.recording.texts() == std::vector<std::string>{"gather 6 to 0", "wait 1",
                                                                "broadcast 12 from 0", "wait 2",
                                                                "barrier", "wait 3"});
    for (const RecordedCall& wait : control.recording.calls_of("wait"))
      CHECK(wait.timeout == kTimeout);
  }
}

TEST_CASE("a long control message goes in pieces of a mebibyte", "[comm]") {
  RecordedControl control(2, 1);
  std::vector<std::byte> bytes(kLong);
  control.channel.broadcast(bytes, 0, kTimeout);
  control.channel.gather(bytes, {}, 0, kTimeout);
  Size together = 0;
  for (const RecordedCall& call : control.recording.calls()) {
    if (call.name == "wait") continue;
    CHECK(call.count <= Size{1} << 20U);
    together += call.count;
  }
  CHECK(together == 2 * static_cast<Size>(kLong));
  CHECK(control.recording.outstanding() == 0);
}

}  // namespace
}  // namespace ptbench::testing
