#include "src/comm/star/star_communicator.h"

#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/comm/control_channel.h"
#include "src/comm/exchange.h"
#include "src/process/local_socket.h"
#include "tests/comm/meeting.h"
#include "tests/support/star.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using StarBody = std::function<void(StarCommunicator&)>;

/// Each rank on a thread, with a region of its own, as on several hosts. What each threw, or "".
std::vector<std::string> failures_of(Size ranks, const StarBody& body) {
  StarHub hub;
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (Size rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        const SharedRegion region = SharedRegion::create(ranks, 1);
        body(*hub.join(region, rank));
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  threads.clear();
  return failures;
}

void run(Size ranks, const StarBody& body) {
  for (const std::string& failure : failures_of(ranks, body)) CHECK(failure.empty());
}

std::vector<std::byte> bytes_of(Size rank, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank) * 31) % 253);
  return bytes;
}

TEST_CASE("host messages of any length come to ranks on other hosts", "[comm]") {
  constexpr std::size_t kLong = (std::size_t{5} << 20U) + 3;
  for (const Size root : {0, 2})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kLong}) {
      INFO(fmt::format("root {}, {} bytes", root, count));
      std::vector<int> wrong(3);
      run(3, [&](StarCommunicator& star) {
        ControlChannel control(star.split(0, 0));
        int& own_wrong = wrong[static_cast<std::size_t>(star.rank())];
        std::vector<std::byte> told = bytes_of(star.rank(), count);
        control.broadcast(told, root, kTimeout);
        own_wrong += told == bytes_of(root, count) ? 0 : 1;
        std::vector<std::byte> whole(star.rank() == root ? 3 * count : 0);
        control.gather(bytes_of(star.rank(), count), whole, root, kTimeout);
        control.barrier(kTimeout);
        for (Size rank = 0; rank < 3 && !whole.empty(); ++rank) {
          const std::vector<std::byte> part = bytes_of(rank, count);
          own_wrong +=
              std::equal(part.begin(), part.end(), whole.begin() + rank * std::ssize(part)) ? 0 : 1;
        }
      });
      CHECK(wrong == std::vector<int>(3));
    }
}

TEST_CASE("groups of ranks on several hosts talk among themselves", "[comm]") {
  std::vector<std::vector<Size>> met(5);
  run(5, [&](StarCommunicator& star) {
    // Ranks 0, 2 and 4 in reversed order, and 1 and 3.
    const auto group = star.split(star.rank() % 2, -star.rank());
    const auto again = group->split(0, 0);
    met[static_cast<std::size_t>(star.rank())] = of_all_ranks(*again, star.rank(), kTimeout);
    meet(*group);
    meet(star);
  });
  for (const std::size_t rank : {0U, 2U, 4U}) CHECK(met[rank] == std::vector<Size>{4, 2, 0});
  for (const std::size_t rank : {1U, 3U}) CHECK(met[rank] == std::vector<Size>{3, 1});
}

TEST_CASE("ranks on other hosts that are late, gone or elsewhere are named", "[comm]") {
  const auto late = failures_of(2, [](StarCommunicator& star) {
    if (star.rank() == 0)
      meet(star, kShort);
    else
      std::this_thread::sleep_for(10 * kShort);
  });
  CHECK(late[0] == "rank 0: barrier: rank 1 did not come within 0.02 s");
  const auto gone = failures_of(2, [](StarCommunicator& star) {
    if (star.rank() == 1) meet(star);
  });
  CHECK(gone[1] == "rank 1: barrier: the connection to rank 0 has ended");
  const auto elsewhere = failures_of(2, [](StarCommunicator& star) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(1 + star.rank()));
    star.wait(star.start_broadcast(bytes, 0), kTimeout);
  });
  CHECK(elsewhere[1] == "rank 1: broadcast of 2 bytes from rank 0: rank 0 does another operation");
}

TEST_CASE("who waits for another host learns at once that a rank gave up", "[comm]") {
  StarHub hub;
  const SharedRegion of_zero = SharedRegion::create(2, 1);
  const SharedRegion of_one = SharedRegion::create(2, 1);
  std::string said;
  std::jthread zero([&] {
    try {
      const auto star = hub.join(of_zero, 0);
      meet(*star);
    } catch (const Error& error) {
      said = error.what();
    }
  });
  const auto star = hub.join(of_one, 1);
  of_zero.give_up(1, "its host is down");  // as the watch of its host learns
  zero.join();
  CHECK(said == "rank 0: barrier: rank 1 gave up: its host is down");
  CHECK_FALSE(of_one.given_up());
}

TEST_CASE("a rank that was sent away at the door comes again", "[comm]") {
  std::string why;
  const Descriptor listener = listen_at(NetworkAddress{.host = "127.0.0.1"}, why);
  const StarPatience patience{.end = std::chrono::steady_clock::now() + kTimeout};
  auto one = std::async(std::launch::async,
                        [&] { return join_star(own_address(listener), 1, 5, patience); });
  for (int times = 0; times < 2; ++times) {
    Descriptor accepted;
    while (!accepted.is_open()) accepted = accept_from(listener);
  }
  const StarLinks star = accept_star(listener, 2, 5, patience);
  CHECK(star.links[1].is_open());
  CHECK(one.get().links.front().is_open());
}

TEST_CASE("a rank begins once all have connected, and not before", "[comm]") {
  StarHub hub;
  const SharedRegion region = SharedRegion::create(3, 1);
  std::atomic<bool> has_begun{false};
  std::jthread one([&] {
    const auto star = hub.join(region, 1);
    has_begun = true;
  });
  std::jthread zero([&] { (void)hub.join(region, 0); });
  std::this_thread::sleep_for(10 * kShort);
  CHECK_FALSE(has_begun);
  (void)hub.join(region, 2);
}

TEST_CASE("strangers at the door of the ranks are sent away", "[comm]") {
  StarHub hub;
  std::string why;
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  const Descriptor silent = connect_to(hub.address(), end, why);
  const Descriptor loud = connect_to(hub.address(), end, why);
  REQUIRE(loud.is_open());
  REQUIRE(send_message(loud, "ptbench star 1 1"));
  const SharedRegion region = SharedRegion::create(2, 1);
  std::jthread one([&] { meet(*hub.join(region, 1)); });
  meet(*hub.join(region, 0));
  CHECK(receive_message(loud, end).kind == SocketMessage::Kind::closed);
}

}  // namespace
}  // namespace ptbench::testing
