#include "src/device/driver_thread.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/base/exit_code.h"
#include "src/device/team.h"
#include "src/device/topology.h"

namespace ptbench {
namespace {

using Waiting = DriverThread::Waiting;

TEST_CASE("a driver executes jobs in order on a thread of its own", "[device]") {
  DriverThread driver(GENERATE(Waiting::spin, Waiting::sleep));
  std::thread::id first;
  const auto note = [&] { first = std::this_thread::get_id(); };
  driver.start(note);
  driver.wait();
  CHECK(first != std::this_thread::get_id());
  int done = 0;
  constexpr int kJobs = 2000;
  for (int job = 0; job < kJobs; ++job) {
    const auto count = [&] {
      if (done == job && std::this_thread::get_id() == first) ++done;
    };
    driver.start(count);
    driver.wait();
    REQUIRE(done == job + 1);
  }
}

TEST_CASE("a driver's maker works on while the job runs", "[device]") {
  DriverThread driver;
  std::atomic<bool> go = false;
  std::atomic<bool> ended = false;
  const auto job = [&] {
    while (!go) std::this_thread::yield();
    ended = true;
  };
  driver.start(job);
  CHECK_FALSE(ended);
  go = true;
  driver.wait();
  CHECK(ended);
}

TEST_CASE("what a job throws is thrown where it is waited for, and the driver goes on",
          "[device]") {
  DriverThread driver;
  const auto fail = [] { throw std::runtime_error("out of luck"); };
  driver.start(fail);
  CHECK_THROWS_WITH(driver.wait(), "out of luck");
  int calls = 0;
  const auto job = [&] { ++calls; };
  driver.start(job);
  driver.wait();
  CHECK(calls == 1);
}

TEST_CASE("a driver and its maker sleep and wake again", "[device]") {
  DriverThread driver;
  int calls = 0;
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // past the spinning
    const auto job = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++calls;
    };
    driver.start(job);
    driver.wait();
  }
  CHECK(calls == 3);
}

TEST_CASE("a driver that goes lets its job end", "[device]") {
  std::atomic<bool> ended = false;
  const auto job = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ended = true;
  };
  {
    DriverThread driver;
    driver.start(job);
  }
  CHECK(ended);
}

TEST_CASE("a driver runs one job at a time, and one that was started is waited for", "[device]") {
  DriverThread driver;
  CHECK_THROWS_AS(driver.wait(), Defect);
  const auto job = [] {};
  driver.start(job);
  CHECK_THROWS_AS(driver.start(job), Defect);
  driver.wait();
}

TEST_CASE("drivers make the teams of several devices, which run at the same time", "[device]") {
  const int cpu = discover_topology().cores.front().cpu;
  std::vector<std::unique_ptr<DriverThread>> drivers;
  for (int i = 0; i < 2; ++i) drivers.push_back(std::make_unique<DriverThread>(Waiting::sleep));
  std::atomic<int> calls = 0;
  const auto job = [&] {
    Team team({cpu, cpu});
    for (int round = 0; round < 10; ++round) team.run([&](int) { ++calls; });
  };
  for (const auto& driver : drivers) driver->start(job);
  for (const auto& driver : drivers) driver->wait();
  CHECK(calls == 2 * 2 * 10);
}

TEST_CASE("a job that misses its deadline ends the process as a defect", "[device]") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    DriverThread driver;
    const auto job = [] { std::this_thread::sleep_for(std::chrono::minutes(1)); };
    driver.start(job);
    driver.wait(std::chrono::milliseconds(10));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::defect));
}

}  // namespace
}  // namespace ptbench
