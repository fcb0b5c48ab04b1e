#include "app/training/host_link.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/device/host_device.h"
#include "tests/measure/fake_clock.h"
#include "tests/support/communicators.h"
#include "tests/support/recording_communicator.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kTwoHosts{"a", "a", "b", "b"};

/// What rank 0 measures of a link whose exchanges take latency + bytes / bandwidth.
struct FakeLink {
  double latency = 0;
  double bandwidth = 0;
  double passed = 0;       ///< seconds, once it was measured
  std::string calls = {};  ///< the first two

  LinkRecord measured() {
    testing::FakeClock clock;
    const double begin = clock.now();
    HostDevice device;
    testing::RecordingCommunicator communicator(
        4, 0, [&](const testing::RecordedCall& call, std::span<std::byte> /*bytes*/) {
          if (call.name == "receive")
            clock.pass(latency + static_cast<double>(call.count) / bandwidth);
        });
    ControlChannel control = testing::control_alone(device.memory());
    Conductor conductor(control, 10s);
    LinkRecord link = measure_host_link(
        RankRole(conductor),
        {.communicator = communicator, .device = device, .clock = clock, .timeout = 10s},
        kTwoHosts);
    passed = clock.now() - begin;
    calls = communicator.texts().at(0) + ", " + communicator.texts().at(1);
    return link;
  }
};

}  // namespace

TEST_CASE("a link's latency and bandwidth are those of its exchanges, soon enough") {
  FakeLink fake;
  SECTION("a fast one") { fake = {.latency = 10e-6, .bandwidth = 10e9}; }
  SECTION("a usual one") { fake = {.latency = 100e-6, .bandwidth = 117e6}; }
  SECTION("a slow one") { fake = {.latency = 0.002, .bandwidth = 1e6}; }
  SECTION("one over the sea") { fake = {.latency = 0.02, .bandwidth = 20e6}; }
  const LinkRecord link = fake.measured();
  CHECK(link.latency_seconds.value() == Approx(fake.latency).epsilon(0.01));
  CHECK(link.bandwidth_bytes_per_second.value() == Approx(fake.bandwidth).epsilon(0.01));
  CHECK(link.communicator == "recording");
  CHECK(fake.passed < 1);
  CHECK(fake.calls == "send 8 to 2, receive 8 from 2");
}

TEST_CASE("a link to the other end of the world takes seconds to measure") {
  FakeLink fake{.latency = 0.1, .bandwidth = 20e6};
  CHECK(fake.measured().bandwidth_bytes_per_second.value() == Approx(20e6).epsilon(0.01));
  CHECK(fake.passed < 5);
}

TEST_CASE("a link whose messages are all as late has no bandwidth") {
  FakeLink fake{.latency = 0.5, .bandwidth = 20e6};
  CHECK(fake.measured().latency_seconds.value() == Approx(0.5).epsilon(0.01));
  CHECK_FALSE(fake.measured().bandwidth_bytes_per_second);
}

TEST_CASE("a link that is no slower for long messages has no bandwidth") {
  FakeLink fake{.latency = 0.001, .bandwidth = 1e300};
  CHECK_FALSE(fake.measured().bandwidth_bytes_per_second);
}

TEST_CASE("all ranks measure the link, and rank 0 knows it") {
  std::vector<LinkRecord> found(4);
  testing::ThreadGroup(4).run([&](SharedMemoryCommunicator& communicator) {
    ControlChannel control(communicator.make_control());
    Conductor conductor(control, 10s);
    HostDevice device;
    const SteadyClock clock;
    found.at(static_cast<std::size_t>(communicator.rank())) = measure_host_link(
        RankRole(conductor),
        {.communicator = communicator, .device = device, .clock = clock, .timeout = 10s},
        kTwoHosts);
  });
  CHECK(found[0].latency_seconds.value() > 0);
  CHECK(found[0].communicator == "shm");
  for (const std::size_t rank : {1U, 2U, 3U}) CHECK_FALSE(found[rank].latency_seconds);
}

TEST_CASE("an end that is gone ends the other in time") {
  std::vector<std::exception_ptr> thrown =
      testing::ThreadGroup(2).failures([&](SharedMemoryCommunicator& communicator) {
        ControlChannel control(communicator.make_control());
        Conductor conductor(control, 10s);
        if (communicator.rank() == 1) throw run_error("it is gone", "none");
        HostDevice device;
        const SteadyClock clock;
        (void)measure_host_link(
            RankRole(conductor),
            {.communicator = communicator, .device = device, .clock = clock, .timeout = 10s},
            std::vector<std::string>{"a", "b"});
      });
  CHECK_THAT(testing::message_of(thrown[0]), Catch::Contains("rank 1 gave up"));
}

}  // namespace ptbench
