// What gloo's communicator does besides the contract of all, and when its module is not there.
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/comm/engine_module.h"
#include "src/comm/network_interfaces.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/meeting.h"
#include "tests/support/skip.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

TestWorld gloo_of(Size ranks) {
  for (const TestWorld& world : test_worlds())
    if (world.factory.name == "gloo" && world.size == ranks) return world;
  skip("no module of gloo was built");
}

std::string message_of(const std::exception_ptr& failure) {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Sockets of this process that others can connect to.
int listening_sockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int listens = 0;
    socklen_t size = sizeof listens;
    const int socket = std::stoi(entry.path().filename().string());
    if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0) count += listens;
  }
  return count;
}

TEST_CASE("gloo has no open port once its ranks are connected", "[comm]") {
  std::atomic<int> listening = 0;
  gloo_of(3).run([&](Communicator& communicator) {
    meet(communicator);
    const auto group = communicator.split(communicator.rank() % 2, 0, kTimeout);
    meet(communicator);
    listening += listening_sockets();
    meet(communicator);
  });
  CHECK(listening == 0);
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

TEST_CASE("an engine without its module says how to get it", "[comm]") {
  CHECK(probe_engine("gloo", "/nowhere").state == "module absent");
  try {
    require_engine("gloo", "/nowhere");
    FAIL("it is there");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::capability);
    CHECK_THAT(error.what(), Contains("/nowhere/libptbench_gloo.so"));
    CHECK_THAT(error.remedy(), Contains("use --communicator shm"));
  }
}

TEST_CASE("network interfaces are known by their names", "[comm]") {
  const std::vector<std::string> names = network_interfaces();
  for (const std::string& name : names) CHECK_NOTHROW(require_interface(name));
  CHECK_THROWS_AS(require_interface("nowhere0"), Error);
  CHECK_THROWS_AS(require_interface(""), Error);
}

}  // namespace
}  // namespace ptbench::testing
