// Sleeping and waking: with naps so long that nobody wakes who is not woken.
#include "src/comm/shm/shared_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;
using testing::message_of;
using testing::ThreadGroup;

constexpr Communicator::Timeout kForever = 2h;
constexpr std::chrono::milliseconds kLongNap = 1h;
constexpr Size kRanks = 3;

/// In all channels together.
std::uint32_t sleepers_of(const SharedRegion& region) {
  std::uint32_t sum = 0;
  for (const shared::Sleepers& sleepers : region.header().sleepers)
    sum += sleepers.count.load(std::memory_order_seq_cst);
  return sum;
}

void await_sleepers(const SharedRegion& region, std::uint32_t count) {
  while (sleepers_of(region) < count && !region.given_up()) std::this_thread::yield();
}

void wake_all(const SharedRegion& region) {
  for (Size rank = 0; rank < region.world_size(); ++rank)
    shared::ring_bell(region.rank_block(rank));
}

struct Outcome {
  std::vector<std::exception_ptr> failures;
  bool overslept = false;  ///< somebody had to be woken from outside
};

using RankBody = std::function<void(SharedMemoryCommunicator&)>;

Outcome run_watched(const ThreadGroup& group, const RankBody& body) {
  auto ended = std::async(std::launch::async, [&] { return group.failures(body); });
  Outcome outcome;
  if (ended.wait_for(30s) != std::future_status::ready) {
    outcome.overslept = true;
    group.region().give_up(0, "somebody slept on");
    while (ended.wait_for(10ms) != std::future_status::ready) wake_all(group.region());
  }
  outcome.failures = ended.get();
  return outcome;
}

void check_woken(const ThreadGroup& group, const RankBody& body) {
  const Outcome outcome = run_watched(group, body);
  CHECK_FALSE(outcome.overslept);
  for (const auto& failure : outcome.failures) CHECK(message_of(failure).empty());
}

ThreadGroup long_sleepers(int cores = 0) {
  return ThreadGroup(kRanks, Bytes{1} << 20U, cores, kLongNap);
}

/// What a rank gives to operations.
struct Given {
  std::array<float, 100> values{};
  std::array<float, 100 * kRanks> all{};

  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values)); }
};

constexpr Size kRoot = 1;

struct Collective {
  std::string name;
  Communicator::Ticket (*start)(Communicator&, Given&);
  /// Ranks that sleep until `late` has worked, where all have started.
  std::uint32_t (*wait_for_work)(Size late);
};

constexpr std::uint32_t kOthers = kRanks - 1;

enum class Channel : std::uint8_t { data, control, group };
constexpr std::array<Channel, 3> kChannelsTried{Channel::data, Channel::control, Channel::group};

/// By which the ranks of `data` talk; null where that is itself.
std::unique_ptr<Communicator> made(SharedMemoryCommunicator& data, Channel channel) {
  if (channel == Channel::control) return data.make_control();
  return channel == Channel::group ? data.split(7, data.rank()) : nullptr;
}

std::vector<Collective> collectives() {
  const auto others = [](Size) { return kOthers; };
  return {
      {"all_reduce",
       [](Communicator& c, Given& v) { return c.start_all_reduce(values_of(v.values), {}); },
       others},
      {"reduce_scatter",
       [](Communicator& c, Given& v) { return c.start_reduce_scatter(values_of(v.values), {}); },
       others},
      {"all_gather",
       [](Communicator& c, Given& v) { return c.start_all_gather(values_of(v.values)); }, others},
      {"reduce",
       [](Communicator& c, Given& v) { return c.start_reduce(values_of(v.values), kRoot, {}); },
       others},
      {"reduce at its root",
       [](Communicator& c, Given& v) {
         return c.start_reduce(values_of(v.values), kRoot, {.at_root = true});
       },
       [](Size late) { return late == kRoot ? kOthers : 0U; }},
      {"gather",
       [](Communicator& c, Given& v) {
         const auto whole = std::as_writable_bytes(std::span(v.all));
         return c.start_gather(v.bytes(), c.rank() == kRoot ? whole : whole.first(0), kRoot);
       },
       [](Size late) { return late == kRoot ? kOthers : 0U; }},
      {"broadcast", [](Communicator& c, Given& v) { return c.start_broadcast(v.bytes(), kRoot); },
       [](Size late) { return late == kRoot ? 0U : 1U; }},
      {"barrier", [](Communicator& c, Given&) { return c.start_barrier(); },
       [](Size) { return 0U; }},
  };
}

TEST_CASE("who starts last wakes all who sleep until then", "[comm]") {
  for (const Channel channel : kChannelsTried)
    for (const int cores : {1, 100})
      for (const Collective& collective : collectives())
        for (Size late = 0; late < kRanks; ++late) {
          INFO(fmt::format("{}, rank {} late, {} cores, channel {}", collective.name, late, cores,
                           static_cast<int>(channel)));
          const ThreadGroup group = long_sleepers(cores);
          check_woken(group, [&](SharedMemoryCommunicator& data) {
            const auto other = made(data, channel);
            Communicator& communicator = other ? *other : static_cast<Communicator&>(data);
            Given given;
            if (communicator.rank() == late) await_sleepers(group.region(), kOthers);
            communicator.wait(collective.start(communicator, given), kForever);
          });
        }
}

TEST_CASE("who works last wakes all who sleep until then", "[comm]") {
  for (const bool by_starting : {false, true})
    for (const Collective& collective : collectives())
      for (Size late = 0; late < kRanks; ++late) {
        INFO(fmt::format("{}, rank {} late{}", collective.name, late,
                         by_starting ? ", works as it starts another" : ""));
        const ThreadGroup group = long_sleepers();
        check_woken(group, [&](Communicator& communicator) {
          Given given;
          auto ticket = collective.start(communicator, given);
          if (communicator.rank() == late) {
            await_sleepers(group.region(), collective.wait_for_work(late));
            // The others have started; now this rank works on the first operation.
            if (by_starting) ticket = communicator.start_barrier();
          }
          communicator.wait(ticket, kForever);
          if (by_starting && communicator.rank() != late)
            communicator.wait(communicator.start_barrier(), kForever);
        });
      }
}

TEST_CASE("a gather's root wakes those who sleep for it while others have yet to work", "[comm]") {
  const ThreadGroup group = long_sleepers();
  std::atomic<bool> is_woken = false;
  check_woken(group, [&](Communicator& communicator) {
    Given given;
    const auto whole = std::as_writable_bytes(std::span(given.all));
    const bool is_root = communicator.rank() == kRoot;
    const auto ticket =
        communicator.start_gather(given.bytes(), is_root ? whole : whole.first(0), kRoot);
    if (is_root) await_sleepers(group.region(), 1);
    while (communicator.rank() == kRanks - 1 && !is_woken && !group.region().given_up())
      std::this_thread::yield();
    communicator.wait(ticket, kForever);
    if (communicator.rank() == 0) is_woken = true;
  });
}

TEST_CASE("a rank that gives up wakes all who sleep, whatever for", "[comm]") {
  for (const bool by_launcher : {false, true})
    for (const bool have_started : {false, true})
      for (Size late = 0; late < kRanks; ++late) {
        INFO(fmt::format("rank {}, by launcher {}, started {}", late, by_launcher, have_started));
        const ThreadGroup group = long_sleepers();
        const Outcome outcome = run_watched(group, [&](SharedMemoryCommunicator& communicator) {
          Given given;
          const bool is_late = communicator.rank() == late;
          Communicator::Ticket ticket{};
          if (!is_late || have_started)
            ticket = communicator.start_all_reduce(values_of(given.values), {});
          if (!is_late) communicator.wait(ticket, kForever);
          await_sleepers(group.region(), kOthers);
          if (by_launcher)
            group.region().give_up(late, "it is gone");
          else
            communicator.abort("it is gone");
        });
        CHECK_FALSE(outcome.overslept);
        for (Size rank = 0; rank < kRanks; ++rank)
          CHECK_THAT(message_of(outcome.failures[static_cast<std::size_t>(rank)]),
                     Catch::EndsWith(
                         rank == late ? "" : fmt::format("rank {} gave up: it is gone", late)));
      }
}

TEST_CASE("who sends or receives last wakes the other", "[comm]") {
  for (const bool receives : {false, true})
    for (const Channel channel : kChannelsTried) {
      INFO(fmt::format("{} late, channel {}", receives ? "receiver" : "sender",
                       static_cast<int>(channel)));
      const ThreadGroup group(2, Bytes{1} << 20U, 0, kLongNap);
      std::array<float, 2> got{};
      check_woken(group, [&](SharedMemoryCommunicator& data) {
        const auto other = made(data, channel);
        Communicator& communicator = other ? *other : static_cast<Communicator&>(data);
        float value = 3;
        const auto bytes = std::as_writable_bytes(std::span(&value, 1));
        const bool is_receiver = data.rank() == 1;
        if (is_receiver == receives) await_sleepers(group.region(), 1);
        if (is_receiver) value = 0;
        communicator.wait(
            is_receiver ? communicator.start_receive(bytes, 0) : communicator.start_send(bytes, 1),
            kForever);
        got.at(static_cast<std::size_t>(data.rank())) = value;
      });
      CHECK(got == std::array<float, 2>{3, 3});
    }
}

TEST_CASE("a rank that sleeps in one channel wakes to work in another", "[comm]") {
  for (const bool by_message : {false, true}) {
    const ThreadGroup group(2, Bytes{1} << 20U, 0, kLongNap);
    check_woken(group, [&](SharedMemoryCommunicator& data) {
      const auto control = data.make_control();
      Given given;
      if (data.rank() == 0) {
        // Rank 1 needs this rank's part of it before it comes to the barrier.
        const auto ticket = by_message ? data.start_receive(given.bytes(), 1)
                                       : data.start_all_reduce(values_of(given.values), {});
        control->wait(control->start_barrier(), kForever);
        data.wait(ticket, kForever);
      } else {
        await_sleepers(group.region(), 1);
        data.wait(by_message ? data.start_send(given.bytes(), 0)
                             : data.start_all_reduce(values_of(given.values), {}),
                  kForever);
        control->wait(control->start_barrier(), kForever);
      }
    });
    CHECK(sleepers_of(group.region()) == 0);
  }
}

TEST_CASE("ranks that take turns at being late wake each other every time", "[comm]") {
  const ThreadGroup group = long_sleepers();
  check_woken(group, [&](Communicator& communicator) {
    Given given;
    for (Size round = 0; round < 300; ++round) {
      for (Size pause = 0; pause < (round * 7 + communicator.rank() * 5) % 11; ++pause)
        std::this_thread::sleep_for(20us);
      communicator.wait(communicator.start_all_reduce(values_of(given.values), {}), kForever);
    }
  });
}

TEST_CASE("each rank that sleeps is woken once, when the last one comes", "[comm]") {
  constexpr Size kMany = 6;
  for (const bool ascends : {true, false}) {
    const ThreadGroup group(kMany, 1, 1, kLongNap);
    check_woken(group, [&](Communicator& communicator) {
      const Size turn = ascends ? communicator.rank() : kMany - 1 - communicator.rank();
      await_sleepers(group.region(), static_cast<std::uint32_t>(turn));
      communicator.wait(communicator.start_barrier(), kForever);
    });
    std::uint32_t rung = 0;
    for (Size rank = 0; rank < kMany; ++rank) {
      const std::uint32_t bell = group.region().rank_block(rank).bell;
      CHECK(bell <= 1);
      rung += bell;
    }
    CHECK(rung == kMany - 1);
    CHECK(sleepers_of(group.region()) == 0);
  }
}

TEST_CASE("the longest nap is as the region says", "[comm]") {
  CHECK(SharedRegion::create(1, 1).header().longest_nap == 100ms);
  CHECK(SharedRegion::create(1, 1, 0, 1, 5ms).header().longest_nap == 5ms);
  CHECK_THROWS_AS(SharedRegion::create(1, 1, 0, 1, 0ms), Defect);
}

/// Moves by itself: at each look as far as the next of `steps` says, the last one again and again.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(std::vector<double> steps) : steps_(std::move(steps)) {}

  [[nodiscard]] double now() const override {
    const double now = now_;
    now_ += steps_[std::min(looks_++, steps_.size() - 1)];
    return now;
  }
  [[nodiscard]] std::size_t looks() const { return looks_; }

 private:
  std::vector<double> steps_;
  mutable std::size_t looks_ = 0;
  mutable double now_ = 1000;
};

TEST_CASE("a deadline begins with its first look, and allows naps until it has passed", "[comm]") {
  const SteppingClock clock({0.4});
  LazyDeadline deadline(1s, clock);
  CHECK(deadline.nap(500ms) == 500ms);
  CHECK(deadline.nap(500ms) == 500ms);
  CHECK(std::chrono::abs(deadline.nap(500ms) - 200ms) < 1us);
  CHECK(deadline.nap(500ms) == 0ns);
  CHECK(deadline.nap(500ms) == 0ns);
}

TEST_CASE("a deadline of no time has passed at once", "[comm]") {
  const SteppingClock clock({0.0});
  LazyDeadline deadline(0s, clock);
  CHECK(deadline.nap(500ms) == 0ns);
}

TEST_CASE("the time that a rank was stopped is not counted against the others", "[comm]") {
  const SteppingClock clock({0.1, 3600, 0.1, 7200, 0.4, 0.4});
  LazyDeadline deadline(1s, clock);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 0ns);
}

TEST_CASE("a rank that was stopped in its last nap looks once more", "[comm]") {
  const SteppingClock clock({3600, 0.1, 0.1});
  LazyDeadline deadline(50ms, clock);
  CHECK(deadline.nap(100ms) == 50ms);
  CHECK(deadline.nap(100ms) == 100ms);
  CHECK(deadline.nap(100ms) == 0ns);
}

TEST_CASE("a rank that always oversleeps still comes to an end", "[comm]") {
  const SteppingClock clock({10});
  LazyDeadline deadline(1s, clock);
  int naps = 0;
  while (naps < 100 && deadline.nap(100ms) > 0ns) ++naps;
  CHECK(naps >= 10);
  CHECK(naps <= 12);
}

TEST_CASE("a rank that was stopped finds those who came soon after", "[comm]") {
  const SharedRegion region = SharedRegion::create(2, 1, 1, 1, 1ms);
  const shared::Waiter waiter{
      .header = region.header(), .own = region.rank_block(0), .change = shared::Change::start};
  const auto await = [&](const Clock& clock, const std::function<bool()>& holds) {
    LazyDeadline deadline(1ms, clock);
    return shared::await(waiter, deadline, holds);
  };
  const SteppingClock stopped({3600, 0.001});
  CHECK(await(stopped, [&] { return stopped.looks() >= 2; }) == WaitEnd::held);
  const SteppingClock alone({3600, 0.001});
  CHECK(await(alone, [&] { return alone.looks() > 100; }) == WaitEnd::late);
  CHECK(sleepers_of(region) == 0);
}

}  // namespace
}  // namespace ptbench
