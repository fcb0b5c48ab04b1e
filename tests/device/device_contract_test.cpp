// What every device promises: queues that keep their order, events that order queues, memory, and
// the host's side of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/device/host_mirror.h"
#include "tests/support/devices.h"

namespace ptbench {
namespace {

using testing::device_factories;

void for_each_device(const std::function<void(Device&)>& check) {
  for (const auto& factory : device_factories()) {
    INFO(factory.name);
    factory.with_device(check);
  }
}

/// Memory of the device, and the host's side of it.
struct Numbers {
  Numbers(Device& device, std::size_t count)
      : buffer(device.memory().allocate(count * sizeof(std::uint32_t), "numbers")),
        mirror(device, buffer.as<std::uint32_t>()) {}

  void fill(std::uint32_t first) const {
    std::iota(mirror.values().begin(), mirror.values().end(), first);
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return buffer.as<std::byte>(); }

  Buffer buffer;
  HostMirror<std::uint32_t> mirror;
};

std::vector<std::uint32_t> counted(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<std::uint32_t> values_of(Device& device, const Numbers& numbers) {
  const auto back = read_back(device, numbers.mirror.memory());
  return {back.values().begin(), back.values().end()};
}

}  // namespace

TEST_CASE("a device's memory is zero, aligned, and the host's through a mirror") {
  for_each_device([](Device& device) {
    const Numbers numbers(device, 1000);
    CHECK(reinterpret_cast<std::uintptr_t>(numbers.buffer.data()) % 64 == 0);
    CHECK(values_of(device, numbers) == std::vector<std::uint32_t>(1000));
    numbers.fill(7);
    write_back(device, numbers.mirror);
    CHECK(values_of(device, numbers) == counted(7, 1000));
    CHECK(numbers.mirror.is_copy() == !device.shares_memory_with_host());
    CHECK_FALSE(device.id().empty());
    CHECK_FALSE(device.name().empty());
    CHECK(device.memory_bytes() > 0);
    CHECK(device.memory().allocate(0, "nothing").bytes() == 0);
    const HostMirror<float> none(device, {});
    none.fetch(device.compute());
    CHECK(none.values().empty());
  });
}

TEST_CASE("copies of any size keep the order of their queue") {
  for_each_device([](Device& device) {
    for (const std::size_t count : {1U, 16U, 40000U, 300001U}) {
      CAPTURE(count);
      const Numbers first(device, count);
      const Numbers second(device, count);
      const Numbers third(device, count);
      first.fill(3);
      write_back(device, first.mirror);
      Queue& queue = device.compute();
      queue.copy(first.bytes(), second.bytes());
      queue.copy(second.bytes(), third.bytes());
      queue.copy(first.bytes().first(4), second.bytes().first(4));
      queue.finish();
      CHECK(values_of(device, third) == counted(3, count));
    }
  });
}

TEST_CASE("a queue that waits for an event sees what was done before it") {
  for_each_device([](Device& device) {
    const Numbers numbers(device, 5000);
    const Numbers copied(device, 5000);
    const auto sent = device.compute().make_event();
    const auto used = device.compute().make_event();
    CHECK_NOTHROW(sent->finish());  // never recorded
    device.transfer().wait(*used);
    for (std::uint32_t round = 1; round <= 20; ++round) {
      CAPTURE(round);
      sent->finish();  // the host's values are free again
      numbers.fill(round);
      device.transfer().wait(*used);
      numbers.mirror.send(device.transfer());
      device.transfer().record(*sent);
      device.compute().wait(*sent);
      device.compute().copy(numbers.bytes(), copied.bytes());
      device.compute().record(*used);
      if (round % 3 == 0) {
        device.compute().finish();
        CHECK(values_of(device, copied) == counted(round, 5000));
      }
    }
    device.finish();
    CHECK(values_of(device, copied) == counted(20, 5000));
  });
}

TEST_CASE("who waits for an event waits for its last record before that") {
  for_each_device([](Device& device) {
    const Numbers first(device, 100);
    const Numbers second(device, 100);
    first.fill(1);
    write_back(device, first.mirror);
    const auto event = device.compute().make_event();
    device.compute().copy(first.bytes(), second.bytes());
    device.compute().record(*event);
    device.transfer().wait(*event);
    device.compute().record(*event);
    device.transfer().copy(second.bytes(), first.bytes());
    device.transfer().finish();
    CHECK(values_of(device, first) == counted(1, 100));
    event->finish();
  });
}

TEST_CASE("a recording is done as often as it is given, on what its memory holds then") {
  for_each_device([](Device& device) {
    Queue& queue = device.compute();
    if (!queue.can_record()) {
      CHECK_THROWS_AS(queue.keep([] {}), Defect);
      return;
    }
    const Numbers from(device, 1000);
    const Numbers to(device, 1000);
    const auto copied = queue.keep([&] { queue.copy(from.bytes(), to.bytes()); });
    CHECK(values_of(device, to) == std::vector<std::uint32_t>(1000, 0));
    for (const std::uint32_t first : {1U, 5000U}) {
      from.fill(first);
      from.mirror.send(queue);
      copied->replay();
      CHECK(values_of(device, to) == counted(first, 1000));
    }
    CHECK_THROWS_AS(queue.keep([&] { throw Defect("planted"); }), Defect);
    CHECK_THROWS_AS(queue.keep([&] { queue.finish(); }), Error);
    copied->replay();  // the queue works on
    queue.finish();
  });
}

TEST_CASE("events with clocks tell how long work took") {
  for_each_device([](Device& device) {
    const Numbers first(device, 1U << 20U);
    const Numbers second(device, 1U << 20U);
    const auto begin = device.compute().make_event(EventClock::on);
    const auto end = device.compute().make_event(EventClock::on);
    device.compute().record(*begin);
    device.compute().copy(first.bytes(), second.bytes());
    device.compute().record(*end);
    device.compute().finish();
    CHECK(end->seconds_since(*begin) > 0);
    CHECK(begin->seconds_since(*end) < 0);
    CHECK(end->seconds_since(*end) == 0);
  });
}

TEST_CASE("host threads share jobs, each part once") {
  for_each_device([](Device& device) {
    CHECK(device.host_threads() >= 1);
    CHECK((device.cpus().empty() ||
           std::ssize(device.cpus()) == std::ptrdiff_t{device.host_threads()}));
    std::vector<std::thread::id> ran(static_cast<std::size_t>(device.host_threads()));
    device.run_on_host(device.host_threads(), [&](int part) {
      ran[static_cast<std::size_t>(part)] = std::this_thread::get_id();
    });
    CHECK(std::set(ran.begin(), ran.end()).size() == ran.size());
    CHECK(ran.front() == std::this_thread::get_id());
    CHECK(device.look().frequency_hertz.value_or(1) > 0);
  });
}

}  // namespace ptbench
