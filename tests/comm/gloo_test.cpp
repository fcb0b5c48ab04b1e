// What gloo's communicator does besides the contract of all, and when its module is not there.
#include <netinet/in.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/library/engine_module.h"
#include "src/comm/star/network_interfaces.h"
#include "src/comm/star/rank_sockets.h"
#include "src/device/affinity.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/listening_sockets.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using Catch::StartsWith;

TestWorld gloo_of(Size ranks) {
  for (const TestWorld& world : test_worlds())
    if (world.factory.name == "gloo" && world.size == ranks) return world;
  skip("no module of gloo was built");
}

/// Threads of this process that may run on one CPU alone.
int pinned_threads() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t cpus;
    const int thread = std::stoi(entry.path().filename().string());
    if (sched_getaffinity(thread, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1) ++count;
  }
  return count;
}

TEST_CASE("gloo has no open port once its ranks are connected", "[comm]") {
  std::atomic<int> listening = 0;
  gloo_of(3).run([&](Communicator& communicator) {
    meet(communicator);
    const auto group = communicator.split(communicator.rank() % 2, 0, kTimeout);
    meet(communicator);
    listening += static_cast<int>(listening_sockets().size());
    meet(communicator);
  });
  CHECK(listening == 0);
}

TEST_CASE("whoever connects to gloo's ranks changes nothing", "[comm]") {
  const TestWorld world = gloo_of(3);
  std::atomic<bool> is_over = false;
  std::jthread stranger([&is_over] {
    const std::string words(64, 'x');
    std::vector<RankSocket> sockets;
    while (!is_over) {
      for (const sockaddr_storage& address : listening_sockets()) {
        RankSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof(sockaddr_in)) != 0 &&
            errno != EINPROGRESS)
          continue;
        if (sockets.size() % 2 == 0) (void)send(socket.number(), words.data(), 64, MSG_NOSIGNAL);
        sockets.push_back(std::move(socket));
      }
      if (sockets.size() > 200) sockets.clear();
    }
  });
  std::atomic<int> wrong = 0;
  world.run([&](Communicator& communicator) {
    for (int round = 0; round < 20; ++round) {
      const auto group = communicator.split(0, 0, kTimeout);
      std::vector<float> values(1000, 1.0F);
      group->wait(group->start_all_reduce(values_of(values), {}), kTimeout);
      if (std::ranges::count(values, 3.0F) != std::ssize(values)) ++wrong;
    }
  });
  is_over = true;
  CHECK(wrong == 0);
}

TEST_CASE("threads of an engine run on all cores, and its ranks' own where they were", "[comm]") {
  if (CPU_COUNT(&given_cpus()) < 2) skip("this process has one core");
  const TestWorld world = gloo_of(2);
  const AffinityGuard affinity;
  REQUIRE(pin_this_thread(sched_getcpu()));  // and the threads of ranks, which it starts
  constexpr int kPinned = 3;
  REQUIRE(pinned_threads() == 1);
  std::array<int, 2> pinned{};
  world.run([&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    const auto group = communicator.split(0, 0, kTimeout);
    std::array<std::byte, 8> bytes{};
    const Communicator::Ticket ticket =
        rank == 0 ? group->start_send(bytes, 1) : group->start_receive(bytes, 0);
    group->wait(ticket, kTimeout);
    // A thread that has just begun is where its maker is.
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    while ((pinned.at(rank) = pinned_threads()) > kPinned && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    meet(communicator);
  });
  CHECK(pinned == std::array{kPinned, kPinned});
}

TEST_CASE("messages of gloo that differ in length do not meet", "[comm]") {
  const auto failures = gloo_of(2).failures([](Communicator& communicator) {
    std::array<std::byte, 8> bytes{};
    const bool is_sender = communicator.rank() == 0;
    const Communicator::Ticket ticket =
        is_sender ? communicator.start_send(bytes, 1)
                  : communicator.start_receive(std::span(bytes).first(5), 0);
    communicator.wait(ticket, is_sender ? kTimeout : kShort);
  });
  CHECK_THAT(message_of(failures.back()), Contains("rank 1: receive of 5 bytes") &&
                                              Contains("rank 0 did not send it within 0.02 s"));
  CHECK_THAT(message_of(failures.front()), Contains("rank 1 gave up"));
}

TEST_CASE("collectives of gloo that differ in length do not meet", "[comm]") {
  const auto failures = gloo_of(2).failures([](Communicator& communicator) {
    std::vector<float> values(communicator.rank() == 0 ? 64 : 1024, 1.0F);
    const bool is_patient = communicator.rank() == 0;
    communicator.wait(communicator.start_all_reduce(values_of(values), {}),
                      is_patient ? kTimeout : kShort);
  });
  CHECK_THAT(message_of(failures.back()), Contains("rank 1: ") && Contains("within 0.02 s"));
  CHECK_THAT(message_of(failures.front()), Contains("rank 1 gave up"));
}

TEST_CASE("a rank that has sent no messages is not late for a collective", "[comm]") {
  std::atomic<bool> has_come = false;
  std::atomic<bool> is_told = false;
  const auto await = [](const std::atomic<bool>& flag) {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    while (!flag && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto failures = gloo_of(3).failures([&](Communicator& communicator) {
    const Size own = communicator.rank();
    std::array<std::byte, 8> bytes{};
    for (int message = 0; message < 3 && own != 1; ++message)
      communicator.wait(
          own == 0 ? communicator.start_send(bytes, 2) : communicator.start_receive(bytes, 0),
          kTimeout);
    if (own == 2) return await(is_told);
    if (own == 0) await(has_come);
    const Communicator::Ticket ticket = communicator.start_barrier();
    has_come = true;
    try {
      communicator.wait(ticket, own == 0 ? kShort : kTimeout);
    } catch (...) {
      is_told = true;
      throw;
    }
  });
  CHECK_THAT(message_of(failures.front()), Contains("rank 0: barrier: rank 2 did not come"));
}

TEST_CASE("an engine without its module says how to get it", "[comm]") {
  CHECK(probe_engine("gloo", "/nowhere").state == "module absent");
  const auto refusal = [](EngineNeed need) {
    try {
      require_engine("gloo", need, "/nowhere");
    } catch (const Error& error) {
      return error;
    }
    throw std::logic_error("it is there");
  };
  const Error here = refusal(EngineNeed::one_host);
  CHECK(here.code() == ExitCode::capability);
  CHECK_THAT(here.what(), Contains("/nowhere/libptbench_gloo.so"));
  CHECK_THAT(here.remedy(), Contains("use --communicator shm"));
  const Error apart = refusal(EngineNeed::several_hosts);
  CHECK(apart.code() == ExitCode::capability);
  CHECK_THAT(apart.what(), StartsWith("several hosts need gloo: there is no module /nowhere/"));
  CHECK_THAT(apart.remedy(), Contains("libgloo-dev") && Contains("on each host"));
  CHECK_THAT(apart.remedy(), !Contains("shm"));
}

TEST_CASE("network interfaces are known by their names", "[comm]") {
  const std::vector<std::string> names = network_interfaces();
  for (const std::string& name : names) CHECK_NOTHROW(require_interface(name));
  CHECK_THROWS_AS(require_interface("nowhere0"), Error);
  CHECK_THROWS_AS(require_interface(""), Error);
}

}  // namespace
}  // namespace ptbench::testing
