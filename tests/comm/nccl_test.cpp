// What NCCL's communicator does with the work of devices: where there are GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda_module.h"
#include "src/base/error.h"
#include "src/device/host_mirror.h"
#include "tests/comm/contract_values.h"
#include "tests/comm/gpu_ranks.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"
#include "tests/support/tested_device.h"

namespace ptbench {
namespace {

using testing::GpuRank;
using testing::GpuRanks;
using testing::kTimeout;
using testing::message_of;
using testing::value_of;
using Ticket = Communicator::Ticket;

/// Runs `body` on so many GPUs, and checks that no rank throws.
void on_gpus(Size ranks, const std::function<void(GpuRank)>& body) {
  for (const std::exception_ptr& failure : GpuRanks().failures_on_devices(ranks, body))
    CHECK(message_of(failure).empty());
}

/// Values of a device, and what the host sees and sends of them.
struct Mirrored {
  Mirrored(Device& device, std::size_t count)
      : buffer(device.memory().allocate(count * sizeof(float), "values")),
        mirror(device, buffer.as<float>().first(count)) {}

  [[nodiscard]] std::span<float> values() const { return mirror.memory(); }

  Buffer buffer;
  HostMirror<float> mirror;
};

TEST_CASE("a device's work goes before an operation that is ordered after it, and after one",
          "[nccl]") {
  if (!testing::tested_device()) return;
  constexpr std::size_t kCount = 4099;
  std::atomic<Size> wrong = 0;
  on_gpus(3, [&](GpuRank rank) {
    Queue& queue = rank.device.compute();
    const auto ready = queue.make_event();
    Mirrored own(rank.device, kCount);
    Mirrored seen(rank.device, kCount);
    for (int round = 0; round < 3; ++round) {
      testing::fill(own.mirror.values(), rank.communicator.rank() + round);
      own.mirror.send(queue);
      queue.record(*ready);
      const Ticket sum =
          rank.communicator.start_all_reduce(values_of(own.values()), {}, ready.get());
      rank.communicator.order(queue, sum, kTimeout);
      queue.copy(std::as_bytes(own.values()), std::as_writable_bytes(seen.values()));
      seen.mirror.fetch(queue);
      queue.finish();
      for (std::size_t i = 0; i < kCount; ++i) {
        float expected = value_of(round, static_cast<Size>(i));
        for (Size other = 1; other < rank.communicator.world_size(); ++other)
          expected += value_of(other + round, static_cast<Size>(i));
        if (seen.mirror.values()[i] != expected) ++wrong;
      }
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a sum over GPUs times one over their number is the mean", "[nccl]") {
  if (!testing::tested_device()) return;
  constexpr std::size_t kCount = 259;
  for (const Size ranks : {2, 3}) {
    const auto share = 1 / static_cast<float>(ranks);
    std::atomic<Size> wrong = 0;
    on_gpus(ranks, [&](GpuRank rank) {
      Queue& queue = rank.device.compute();
      Mirrored own(rank.device, kCount);
      testing::fill(own.mirror.values(), rank.communicator.rank());
      own.mirror.send(queue);
      queue.finish();
      rank.communicator.wait(
          rank.communicator.start_all_reduce(values_of(own.values()), {.scale = share}), kTimeout);
      own.mirror.fetch(queue);
      queue.finish();
      for (std::size_t i = 0; i < kCount; ++i) {
        float sum = 0;
        for (Size other = 0; other < ranks; ++other) sum += value_of(other, static_cast<Size>(i));
        const float bound = testing::kLargestValue * 0x1p-21F;
        if (!(std::abs(own.mirror.values()[i] - sum * share) <= bound)) ++wrong;
      }
    });
    CAPTURE(ranks);
    CHECK(wrong == 0);
  }
}

TEST_CASE("collectives go to the rank's own GPU whichever its thread used last", "[nccl]") {
  if (!testing::tested_device()) return;
  std::atomic<Size> wrong = 0;
  on_gpus(2, [&](GpuRank rank) {
    const Size own = rank.communicator.rank();
    Queue& queue = rank.device.compute();
    Mirrored values(rank.device, 64);
    std::ranges::fill(values.mirror.values(), 1.0F);
    values.mirror.send(queue);
    queue.finish();
    // Who opens a GPU uses it, until something is done with another one.
    const CudaModule other(fmt::format("cuda:{}", 1 - own), PTBENCH_BUILT_MODULES);
    const auto sum = [&](Communicator& communicator) {
      const Site site = other.open();
      communicator.wait(communicator.start_all_reduce(values_of(values.values()), {}), kTimeout);
    };
    sum(rank.communicator);
    const auto group = [&] {
      const Site site = other.open();
      return rank.communicator.split(0, own);
    }();
    sum(*group);
    values.mirror.fetch(queue);
    queue.finish();
    for (const float value : values.mirror.values())
      if (value != 4) ++wrong;
  });
  CHECK(wrong == 0);
}

/// Has events for as many collectives as come.
class Watch final : public WorkObserver {
 public:
  explicit Watch(Queue& queue) : queue_(queue) {}
  [[nodiscard]] WorkEvents next() override {
    for (int i = 0; i < 2; ++i) events_.push_back(queue_.make_event(EventClock::on));
    return {.begin = events_[events_.size() - 2].get(), .end = events_.back().get()};
  }
  /// The beginning and the end of each.
  [[nodiscard]] const std::vector<std::unique_ptr<Event>>& events() const { return events_; }

 private:
  Queue& queue_;
  std::vector<std::unique_ptr<Event>> events_;
};

TEST_CASE("a watch's events lie round each collective, behind what it waits for", "[nccl]") {
  if (!testing::tested_device()) return;
  std::atomic<Size> wrong = 0;
  std::atomic<Size> seen = 0;
  on_gpus(2, [&](GpuRank rank) {
    Queue& queue = rank.device.compute();
    Mirrored own(rank.device, 4099);
    Watch watch(queue);
    const auto ready = queue.make_event(EventClock::on);
    const auto done = queue.make_event(EventClock::on);
    const auto sum = [&](const Event* after) {
      return rank.communicator.start_all_reduce(values_of(own.values()), {}, after);
    };
    rank.communicator.watch(&watch);
    for (int copies = 0; copies < 9; ++copies) own.mirror.send(queue);
    queue.record(*ready);
    (void)sum(ready.get());
    rank.communicator.order(queue, sum(nullptr), kTimeout);
    queue.record(*done);
    rank.communicator.watch(nullptr);
    rank.communicator.wait(sum(nullptr), kTimeout);
    queue.finish();
    const Event* before = ready.get();
    for (const auto& event : watch.events()) {
      if (event->seconds_since(*before) < 0) ++wrong;
      before = event.get();
      ++seen;
    }
    if (done->seconds_since(*before) < 0) ++wrong;
  });
  CHECK(wrong == 0);
  CHECK(seen == 2 * 2 * 2);
}

TEST_CASE("a rank that does not come to an operation on GPUs is named in time", "[nccl]") {
  if (!testing::tested_device()) return;
  const auto failures = GpuRanks().failures_on_devices(3, [](GpuRank rank) {
    if (rank.communicator.rank() == 1) return;
    const Buffer buffer = rank.device.memory().allocate(64, "values");
    const Ticket ticket =
        rank.communicator.start_all_reduce(values_of(buffer.as<float>()), {}, nullptr);
    rank.communicator.wait(ticket, std::chrono::milliseconds(200));
  });
  REQUIRE(failures[0]);
  REQUIRE(failures[2]);
  const std::string first = message_of(failures[0]);
  const std::string second = message_of(failures[2]);
  CHECK_THAT(first + second, Catch::Contains("rank 1 did not come within 0.2 s"));
}

TEST_CASE("a group of ranks on GPUs names ranks of the world", "[nccl]") {
  if (!testing::tested_device()) return;
  const auto failures = GpuRanks().failures_on_devices(3, [](GpuRank rank) {
    const Size own = rank.communicator.rank();
    const auto group = rank.communicator.split(own == 0 ? 0 : 1, 0);
    if (own != 1) return;
    const Buffer buffer = rank.device.memory().allocate(64, "values");
    group->wait(group->start_broadcast(buffer.as<std::byte>(), 1), std::chrono::milliseconds(200));
  });
  REQUIRE(failures[1]);
  CHECK_THAT(message_of(failures[1]),
             Catch::Contains("rank 1: broadcast of 64 bytes from rank 2: "));
}

}  // namespace
}  // namespace ptbench
