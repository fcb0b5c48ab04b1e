// What every communicator does with messages between two ranks, with events and with queues.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/meeting.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;
using testing::kTimeout;
using testing::test_worlds;
using testing::TestWorld;
using Ticket = Communicator::Ticket;

/// Different for each pair of ranks, message and index.
std::byte byte_of(Size from, Size to, Size message, std::size_t index) {
  const auto mixed = static_cast<Size>(index) * 31 + from * 7 + to * 101 + message * 53;
  return static_cast<std::byte>(mixed % 251);
}

std::vector<std::byte> message_of(Size from, Size to, Size message, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = byte_of(from, to, message, i);
  return made;
}

constexpr std::array<std::size_t, 4> kLengths{0, 1, 1001, 300'001};

TEST_CASE("messages go around a ring, from memory of the communicator or not", "[comm]") {
  for (const TestWorld& world : test_worlds())
    for (const std::size_t bytes : kLengths)
      for (const bool in_place : {true, false}) {
        INFO(fmt::format("{}, {} bytes, in place {}", world.text(), bytes, in_place));
        std::atomic<int> wrong = 0;
        world.run([&](Communicator& communicator) {
          const Size ranks = communicator.world_size();
          const Size own = communicator.rank();
          const Size next = (own + 1) % ranks;
          const Size before = (own + ranks - 1) % ranks;
          std::vector<std::byte> sent = message_of(own, next, 0, bytes);
          Buffer buffer = communicator.memory().allocate(bytes, "message");
          if (in_place) std::ranges::copy(sent, buffer.as<std::byte>().begin());
          std::vector<std::byte> received(bytes);
          const std::span<const std::byte> from = in_place ? buffer.as<std::byte>() : sent;
          const Ticket send = communicator.start_send(from.first(bytes), next);
          const Ticket receive = communicator.start_receive(received, before);
          communicator.wait(send, kTimeout);
          communicator.wait(receive, kTimeout);
          if (received != message_of(before, own, 0, bytes)) ++wrong;
        });
        CHECK(wrong == 0);
      }
}

TEST_CASE("every pair of ranks exchanges messages, whoever receives first", "[comm]") {
  for (const TestWorld& world : test_worlds())
    for (const bool receives_first : {true, false}) {
      INFO(fmt::format("{}, receives first {}", world.text(), receives_first));
      std::atomic<int> wrong = 0;
      world.run([&](Communicator& communicator) {
        const Size own = communicator.rank();
        const auto ranks = static_cast<std::size_t>(communicator.world_size());
        std::vector<std::vector<std::byte>> sent(ranks);
        std::vector<std::vector<std::byte>> received(ranks);
        Ticket last{};
        const auto send_all = [&] {
          for (std::size_t to = 0; to < ranks; ++to) {
            sent[to] = message_of(own, static_cast<Size>(to), 0, 100);
            last = communicator.start_send(sent[to], static_cast<Size>(to));
          }
        };
        if (!receives_first) send_all();
        for (std::size_t from = 0; from < ranks; ++from) {
          received[from].resize(100);
          last = communicator.start_receive(received[from], static_cast<Size>(from));
        }
        if (receives_first) send_all();
        communicator.wait(last, kTimeout);
        for (std::size_t from = 0; from < ranks; ++from)
          if (received[from] != message_of(static_cast<Size>(from), own, 0, 100)) ++wrong;
      });
      CHECK(wrong == 0);
    }
}

TEST_CASE("messages of a pair keep their order, also among collectives", "[comm]") {
  constexpr Size kRounds = 60;
  for (const TestWorld& world : test_worlds()) {
    INFO(world.text());
    std::atomic<int> wrong = 0;
    world.run([&](Communicator& communicator) {
      const Size ranks = communicator.world_size();
      const Size own = communicator.rank();
      const Size next = (own + 1) % ranks;
      const Size before = (own + ranks - 1) % ranks;
      for (Size round = 0; round < kRounds; ++round) {
        std::array<std::vector<std::byte>, 3> sent;
        std::array<std::vector<std::byte>, 3> received;
        const auto bytes = [](std::size_t i) { return 20 * i + 5; };
        const auto send_all = [&] {
          for (std::size_t i = 0; i < sent.size(); ++i) {
            sent.at(i) = message_of(own, next, 3 * round + static_cast<Size>(i), bytes(i));
            (void)communicator.start_send(sent.at(i), next);
          }
        };
        const bool is_even = (round + own) % 2 == 0;
        float sum = 1;
        if (is_even) send_all();
        const Ticket reduced = communicator.start_all_reduce(values_of(std::span(&sum, 1)), {});
        if (!is_even) communicator.wait(reduced, kTimeout);
        for (std::size_t i = 0; i < sent.size(); ++i) {
          received.at(i).resize(bytes(i));
          (void)communicator.start_receive(received.at(i), before);
        }
        if (!is_even) send_all();
        communicator.wait(communicator.start_barrier(), kTimeout);
        if (sum != static_cast<float>(ranks)) ++wrong;
        for (std::size_t i = 0; i < sent.size(); ++i)
          if (received.at(i) != message_of(before, own, 3 * round + static_cast<Size>(i), bytes(i)))
            ++wrong;
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("a message of another length than is received is told", "[comm][surrender]") {
  for (const TestWorld& world : test_worlds()) {
    if (!world.factory.tells_lengths) continue;
    INFO(world.text());
    const auto failures = world.failures([&](Communicator& communicator) {
      std::array<std::byte, 8> bytes{};
      const Size last = communicator.world_size() - 1;
      Ticket ticket{};
      if (communicator.rank() == 0)
        ticket = communicator.start_send(std::span(bytes).first(5), last);
      if (communicator.rank() == last) ticket = communicator.start_receive(bytes, 0);
      if (ticket != Ticket{}) communicator.wait(ticket, kTimeout);
    });
    if (!world.sees(world.size - 1)) continue;
    REQUIRE(failures.back());
    CHECK_THROWS_WITH(
        std::rethrow_exception(failures.back()),
        Catch::Contains("receive of 8 bytes") && Catch::Contains("5 bytes were sent"));
  }
}

TEST_CASE("who waits for a message of another learns that a rank gave up", "[comm][surrender]") {
  for (const TestWorld& world : test_worlds()) {
    if (world.size < 3) continue;
    INFO(world.text());
    const auto begin = std::chrono::steady_clock::now();
    const auto failures = world.failures([](Communicator& communicator) {
      const Size own = communicator.rank();
      communicator.wait(communicator.start_barrier(), kTimeout);
      if (own == 2) throw run_error("no data");
      std::array<std::byte, 8> bytes{};
      // Of ranks 0 and 1 each waits for the other, and neither for rank 2.
      if (own < 2) communicator.wait(communicator.start_receive(bytes, 1 - own), kTimeout);
    });
    CHECK(std::chrono::steady_clock::now() - begin < kTimeout / 2);
    for (const std::size_t rank : {0U, 1U}) {
      if (!world.sees(static_cast<Size>(rank))) continue;
      REQUIRE(failures[rank]);
      // A rank that rank 2 was faster than is still in the barrier.
      CHECK_THROWS_WITH(std::rethrow_exception(failures[rank]),
                        (Catch::Contains("receive of 8 bytes") || Catch::Contains("barrier")) &&
                            Catch::Contains("gave up: an error ended it"));
    }
  }
}

TEST_CASE("a message for no rank is a defect", "[comm]") {
  for (const TestWorld& world : test_worlds()) {
    if (world.size > 1) continue;
    world.run([](Communicator& communicator) {
      CHECK_THROWS_AS(communicator.start_send({}, 1), Defect);
      CHECK_THROWS_AS(communicator.start_receive({}, -1), Defect);
    });
  }
}

/// An event that is there once somebody says so.
class LateEvent final : public Event {
 public:
  void record() { recorded_.set_value(); }
  void finish() const override { is_there_.wait(); }
  [[nodiscard]] double seconds_since(const Event& /*earlier*/) const override { return 0; }

 private:
  std::promise<void> recorded_;
  std::shared_future<void> is_there_ = recorded_.get_future().share();
};

/// Writes the last rank's values late, on a thread of its own, and then says that they are there.
struct LateWriter {
  LateWriter(std::span<float> values, float value, bool is_late)
      : thread([this, values, value, is_late] {
          if (is_late) std::this_thread::sleep_for(5ms);
          std::ranges::fill(values, value);
          event.record();
        }) {}

  LateEvent event;
  std::jthread thread;
};

/// What every rank has afterwards in the first of its values, where rank r gave r + 1.
struct AfterEvent {
  std::string name;
  Ticket (*start)(Communicator&, std::span<float> values, std::span<float> all, const Event* after);
  float (*expected)(Size rank, Size world_size);
};

float own_value(Size rank, Size /*world_size*/) { return static_cast<float>(rank + 1); }
float sum_at_last(Size rank, Size world_size) {
  return rank + 1 == world_size ? static_cast<float>(world_size * (world_size + 1) / 2)
                                : static_cast<float>(rank + 1);
}

std::vector<AfterEvent> operations_after_events() {
  return {{"all_reduce",
           [](Communicator& c, std::span<float> values, std::span<float>, const Event* after) {
             return c.start_all_reduce(values_of(values), {}, after);
           },
           [](Size, Size size) { return static_cast<float>(size * (size + 1) / 2); }},
          {"reduce",
           [](Communicator& c, std::span<float> values, std::span<float>, const Event* after) {
             return c.start_reduce(values_of(values), c.world_size() - 1, {}, after);
           },
           sum_at_last},
          {"broadcast",
           [](Communicator& c, std::span<float> values, std::span<float>, const Event* after) {
             return c.start_broadcast(std::as_writable_bytes(values), c.world_size() - 1, after);
           },
           [](Size, Size size) { return static_cast<float>(size); }},
          {"all_gather",
           [](Communicator& c, std::span<float> values, std::span<float>, const Event* after) {
             return c.start_all_gather(values_of(values), after);
           },
           [](Size, Size) { return 1.0F; }},
          {"reduce_scatter",
           [](Communicator& c, std::span<float> values, std::span<float>, const Event* after) {
             // The first of the values is rank 0's to have.
             const Ticket ticket = c.start_reduce_scatter(values_of(values), {}, after);
             c.wait(ticket, kTimeout);
             return c.start_broadcast(std::as_writable_bytes(values), 0);
           },
           [](Size, Size size) { return static_cast<float>(size * (size + 1) / 2); }},
          {"gather",
           [](Communicator& c, std::span<float> values, std::span<float> all, const Event* after) {
             const bool is_root = c.rank() == 0;
             const auto whole = std::as_writable_bytes(all);
             c.wait(
                 c.start_gather(std::as_bytes(values), is_root ? whole : whole.first(0), 0, after),
                 kTimeout);
             if (is_root) values.front() = all.back();
             return c.start_broadcast(std::as_writable_bytes(values), 0);
           },
           [](Size, Size size) { return static_cast<float>(size); }},
          {"send to itself",
           [](Communicator& c, std::span<float> values, std::span<float> all, const Event* after) {
             (void)c.start_send(std::as_bytes(values), c.rank(), after);
             c.wait(c.start_receive(std::as_writable_bytes(all.first(values.size())), c.rank()),
                    kTimeout);
             values.front() = all.front();
             return c.start_barrier();
           },
           own_value}};
}

TEST_CASE("operations after an event read what was written before it", "[comm]") {
  constexpr std::size_t kCount = 100;
  for (const TestWorld& world : test_worlds())
    for (const AfterEvent& operation : operations_after_events())
      for (Size late = 0; late < world.size; ++late) {
        INFO(fmt::format("{}, {}, rank {} late", world.text(), operation.name, late));
        std::vector<float> results(static_cast<std::size_t>(world.size));
        world.run([&](Communicator& communicator) {
          const Size own = communicator.rank();
          std::vector<float> values(kCount, -1000);
          std::vector<float> all(kCount * static_cast<std::size_t>(communicator.world_size()));
          LateWriter writer(values, static_cast<float>(own + 1), own == late);
          communicator.wait(operation.start(communicator, values, all, &writer.event), kTimeout);
          results[static_cast<std::size_t>(own)] = values.front();
        });
        for (Size rank = 0; rank < world.size; ++rank)
          if (world.sees(rank))
            CHECK(results[static_cast<std::size_t>(rank)] == operation.expected(rank, world.size));
      }
}

/// A queue of the host: works at once.
class HostQueue final : public Queue {
 public:
  [[nodiscard]] std::unique_ptr<Event> make_event(EventClock /*clock*/) override {
    auto event = std::make_unique<LateEvent>();
    event->record();
    return event;
  }
  void copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    std::memcpy(to.data(), from.data(), from.size());
  }
  void record(Event& /*event*/) override {}
  void wait(const Event& event) override { event.finish(); }
  void finish() override {}
};

TEST_CASE("what a queue is given after it was ordered begins after the operation", "[comm]") {
  for (const TestWorld& world : test_worlds()) {
    INFO(world.text());
    std::atomic<int> wrong = 0;
    world.run([&](Communicator& communicator) {
      HostQueue queue;
      for (int round = 0; round < 20; ++round) {
        std::vector<float> values(1000, static_cast<float>(communicator.rank() + round));
        std::vector<float> seen(values.size());
        const Ticket ticket = communicator.start_all_reduce(values_of(values), {});
        communicator.order(queue, ticket, kTimeout);
        queue.copy(std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(seen)));
        queue.finish();
        const Size ranks = communicator.world_size();
        const auto sum = static_cast<float>(ranks * (ranks - 1) / 2 + ranks * round);
        if (std::ranges::count(seen, sum) != std::ssize(seen)) ++wrong;
        // What was ordered may be waited for too.
        communicator.wait(ticket, kTimeout);
      }
    });
    CHECK(wrong == 0);
  }
}

}  // namespace
}  // namespace ptbench
