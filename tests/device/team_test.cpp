#include "src/device/team.h"

#include <sched.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/some_cpus.h"

namespace ptbench {
namespace {

using testing::some_cpus;

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  return set;
}

TEST_CASE("every member of a team runs each job once", "[device]") {
  const int size = GENERATE(1, 2, 3, 8);
  Team team(some_cpus(size));
  std::array<std::atomic<int>, 8> calls{};
  constexpr int kJobs = 2000;
  for (int job = 0; job < kJobs; ++job)
    team.run([&](int member) { ++calls.at(static_cast<std::size_t>(member)); });
  for (int member = 0; member < size; ++member)
    CHECK(calls.at(static_cast<std::size_t>(member)) == kJobs);
}

TEST_CASE("a job may use fewer members than the team has", "[device]") {
  Team team(some_cpus(4));
  for (int members = 1; members <= 4; ++members) {
    std::atomic<int> sum = 0;
    team.run(members, [&](int member) { sum += 1 << member; });
    CHECK(sum == (1 << members) - 1);
  }
}

TEST_CASE("what members write is seen after the job and by the next one", "[device]") {
  Team team(some_cpus(3));
  std::array<int, 3> values{};
  for (int round = 1; round <= 500; ++round) {
    team.run([&](int member) { values.at(static_cast<std::size_t>(member)) += member; });
    int sum = 0;
    for (const int value : values) sum += value;
    REQUIRE(sum == round * 3);
  }
}

TEST_CASE("the lowest member's exception reaches the caller, and the team goes on", "[device]") {
  Team team(some_cpus(3));
  const auto fail = [](int member) {
    if (member > 0) throw std::runtime_error("member " + std::to_string(member));
  };
  CHECK_THROWS_WITH(team.run(fail), "member 1");
  std::atomic<int> calls = 0;
  team.run([&](int) { ++calls; });
  CHECK(calls == 3);
}

TEST_CASE("members sleep and wake again", "[device]") {
  Team team(some_cpus(2));
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // past the spinning
    std::atomic<int> calls = 0;
    team.run([&](int) { ++calls; });
    CHECK(calls == 2);
  }
}

TEST_CASE("work is charged what the slowest member of each job computes", "[device]") {
  const auto compute_for = [](double seconds) {
    const auto computed = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    for (const double end = computed() + seconds; computed() < end;) continue;
  };
  Team team(some_cpus(2));
  const double one_job = team.core_seconds_of(
      [&] { team.run([&](int member) { compute_for(member == 0 ? 0.01 : 0.04); }); });
  CHECK(one_job >= 0.04);
  CHECK(one_job < 0.05);
  const double two_jobs = team.core_seconds_of([&] {
    team.run([&](int member) { compute_for(member == 0 ? 0.01 : 0.04); });
    team.run([&](int member) { compute_for(member == 0 ? 0.04 : 0.01); });
  });
  CHECK(two_jobs >= 0.08);
  CHECK(two_jobs < 0.1);
  CHECK(team.core_seconds_of([&] {
    compute_for(0.02);
    team.run(1, [&](int) { compute_for(0.02); });
  }) >= 0.04);
}

TEST_CASE("work is not charged what others take of its cores", "[device]") {
  Team team(some_cpus(2));
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  const double seconds = team.core_seconds_of([&] {
    sleep();
    team.run([&](int) { sleep(); });
  });
  CHECK(seconds < 0.05);
  CHECK(seconds > 0);
}

TEST_CASE("a team that was metered while a job failed can be metered again", "[device]") {
  Team team(some_cpus(2));
  const auto fail = [&] { team.run([](int) { throw std::runtime_error("no"); }); };
  CHECK_THROWS(team.core_seconds_of(fail));
  CHECK(team.core_seconds_of([&] { team.run([](int) {}); }) >= 0);
}

TEST_CASE("a team pins its maker and lets it go again", "[device]") {
  const cpu_set_t before = affinity();
  {
    const std::vector<int> cpus = some_cpus(2);
    const Team team(cpus);
    const cpu_set_t pinned = affinity();
    CHECK(CPU_COUNT(&pinned) == 1);
    CHECK(CPU_ISSET(static_cast<unsigned>(cpus[0]), &pinned));
  }
  const cpu_set_t after = affinity();
  CHECK(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace ptbench
