#include "src/ranks/rank_mirror.h"

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "src/process/local_socket.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;

/// One of three ranks, each with a region of its own.
struct Mirrored {
  explicit Mirrored(Size rank) : own(rank) {}

  [[nodiscard]] std::uint64_t started_by(Size rank) const {
    return region.rank_block(rank).started_on_device;
  }

  Size own;
  SharedRegion region = SharedRegion::create(3, 1);
  RankMirror mirror{region, own, 20ms};
};

/// What one tells another now.
std::vector<std::string> told_by(Mirrored& one, Size other) {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const Descriptor near(ends[0]);
  const Descriptor far(ends[1]);
  Outbox outbox;
  one.mirror.note(0ms);
  one.mirror.tell(other, outbox);
  outbox.send_to(near);
  std::vector<std::string> messages;
  for (;;) {
    SocketMessage message = receive_message(far);
    if (message.kind != SocketMessage::Kind::text) return messages;
    messages.push_back(std::move(message.text));
  }
}

void tell(Mirrored& one, Mirrored& other) {
  for (const std::string& message : told_by(one, other.own))
    CHECK(other.mirror.hear(one.own, message));
}

TEST_CASE("ranks that go on are not told of each other, and of one that stops they are", "[comm]") {
  Mirrored zero(0);
  Mirrored one(1);
  Mirrored two(2);
  for (std::uint64_t started = 1; started <= 10; ++started) {
    two.region.rank_block(2).started_on_device = started;
    tell(two, zero);
    CHECK(zero.started_by(2) == started);
    tell(zero, one);
  }
  CHECK(one.started_by(2) == 0);
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (one.started_by(2) == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
    tell(zero, one);
  }
  CHECK(one.started_by(2) == 10);
}

TEST_CASE("a rank's own news are told at once", "[comm]") {
  Mirrored zero(0);
  Mirrored one(1);
  zero.region.rank_block(0).started_on_device = 3;
  one.region.rank_block(1).started_on_device = 4;
  tell(zero, one);
  tell(one, zero);
  CHECK(one.started_by(0) == 3);
  CHECK(zero.started_by(1) == 4);
}

TEST_CASE("only rank 0 tells of others, and nobody of ranks that there are not", "[comm]") {
  Mirrored zero(0);
  Mirrored one(1);
  zero.region.rank_block(0).started_on_device = 3;
  const std::vector<std::string> messages = told_by(zero, 1);
  REQUIRE(messages.size() == 1);
  CHECK(one.mirror.hear(2, messages.front()));
  CHECK(one.started_by(0) == 0);
  const std::string of_nobody = "states " + std::string(40, '\xff');
  CHECK(one.mirror.hear(0, of_nobody));
  CHECK(one.mirror.hear(0, messages.front().substr(0, messages.front().size() - 1)));
  CHECK(one.started_by(0) == 0);
  CHECK(one.mirror.hear(0, "gave up " + std::string(8, '\xff') + "nobody"));
  CHECK(one.mirror.hear(0, "gave up "));
  CHECK_FALSE(one.region.given_up());
  CHECK_FALSE(one.mirror.hear(0, "goodbye"));
  CHECK(one.mirror.hear(0, messages.front()));
  CHECK(one.started_by(0) == 3);
}

}  // namespace
}  // namespace ptbench
