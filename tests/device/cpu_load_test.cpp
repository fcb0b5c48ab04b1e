#include "src/device/cpu_load.h"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace ptbench {
namespace {

constexpr double kTick = 0.01;

const std::string kStat =
    "cpu  900 10 100 8000 20 3 7 60 5 0\n"
    "cpu0 500 10 60 4000 20 1 2 50 5 0\n"
    "cpu1 300 0 30 3000 0 2 5 10 0 0\n"
    "cpu12 100 0 10 1000 0 0 0 0 0 0\n"
    "intr 13450185 0 0\n"
    "ctxt 12\n";

TEST_CASE("times of all CPUs are the sum of their lines", "[device]") {
  const auto times = parse_cpu_times(kStat, {}, kTick);
  REQUIRE(times.has_value());
  CHECK(times->cpus == 3);
  CHECK(times->total == Approx(91.00));
  CHECK(times->busy == Approx(10.20));  // of it 0.60 s steal and 80.20 s idle or waiting
  CHECK(times->steal == Approx(0.60));
}

TEST_CASE("times of some CPUs leave out the others", "[device]") {
  const std::array<int, 2> cpus{1, 12};
  const auto times = parse_cpu_times(kStat, cpus, kTick);
  REQUIRE(times.has_value());
  CHECK(times->cpus == 2);
  CHECK(times->total == Approx(44.57));
  CHECK(times->busy == Approx(4.47));
  CHECK(times->steal == Approx(0.10));
}

TEST_CASE("a CPU that is offline has no times", "[device]") {
  CHECK_FALSE(parse_cpu_times(kStat, std::array<int, 2>{1, 2}, kTick).has_value());
}

TEST_CASE("old kernels know no steal", "[device]") {
  const auto times = parse_cpu_times("cpu  50 0 10 40\ncpu0 50 0 10 40\n", {}, kTick);
  REQUIRE(times.has_value());
  CHECK(times->total == Approx(1.0));
  CHECK(times->busy == Approx(0.6));
  CHECK(times->steal == 0);
}

TEST_CASE("a text that is no /proc/stat has no times", "[device]") {
  for (const char* text : {"", "cpu", "cpu  1 2 3 4\n", "cpu0 1 2 3\n", "cpux 1 2 3 4\n", "cpu0\n",
                           "cpu0 a b c d\n", "ctxt 12\n"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_cpu_times(text, {}, kTick).has_value());
  }
}

TEST_CASE("what neither this process used nor was idle is foreign, and steal is apart",
          "[device]") {
  const CpuTimes begin{.cpus = 2, .total = 100, .busy = 50, .steal = 1, .own = 20};
  CpuTimes end{.cpus = 2, .total = 102, .busy = 51.2, .steal = 1.1, .own = 21};
  const auto load = load_between(begin, end);
  REQUIRE(load.has_value());
  CHECK(load->foreign_fraction == Approx(0.1));
  CHECK(load->steal_fraction == Approx(0.05));

  end.own = 30;  // ticks and the scheduler's own count disagree; or we ran on other CPUs too
  CHECK(load_between(begin, end)->foreign_fraction == 0);
}

TEST_CASE("windows too short to tell of load are gathered until they do", "[device]") {
  const CpuTimes begin{.cpus = 2, .total = 100, .busy = 50, .steal = 1, .own = 20};
  CpuTimes quiet = begin;  // 40 ms of two CPUs, of which this process has one
  quiet.total += 0.08;
  quiet.busy += 0.04;
  quiet.own += 0.04;
  CpuTimes disturbed = quiet;
  disturbed.busy += 0.04;
  GatheredLoad gathered;
  for (int round = 0; round < 2; ++round) {
    for (int turn = 0; turn < 25; ++turn)
      CHECK_FALSE(gathered.add(begin, turn == 3 ? disturbed : quiet).has_value());
    const auto load = gathered.add(begin, quiet);
    REQUIRE(load.has_value());
    CHECK(load->foreign_fraction == Approx(0.04 / 2.08));
  }
  CpuTimes whole = begin;  // 0.5 s, which tells by itself
  whole.total += 1;
  whole.busy += 0.5;
  CHECK(gathered.add(begin, whole)->foreign_fraction == Approx(0.5));
  CHECK_FALSE(gathered.add(begin, quiet).has_value());
  CpuTimes fewer = quiet;  // one went offline
  fewer.cpus = 1;
  CHECK_FALSE(gathered.add(begin, fewer).has_value());
}

TEST_CASE("load below the kernel's resolution is not known", "[device]") {
  const CpuTimes begin{.cpus = 2, .total = 100, .busy = 50, .steal = 1, .own = 20};
  CpuTimes end = begin;
  end.total += 0.09;  // 45 ms of two CPUs
  CHECK_FALSE(load_between(begin, end).has_value());
  end.total += 0.02;
  CHECK(load_between(begin, end).has_value());
  end.cpus = 1;  // one went offline
  CHECK_FALSE(load_between(begin, end).has_value());
}

TEST_CASE("this machine tells the times of its CPUs", "[device]") {
  const CpuLoad all;
  const auto times = all.since_boot();
  REQUIRE(times.has_value());
  CHECK(times->cpus > 0);
  CHECK(times->total > times->busy);
  CHECK(times->own > 0);
  CHECK_FALSE(CpuLoad({100000}).shares().has_value());
}

TEST_CASE("load is counted from the last restart", "[device]") {
  CpuLoad load;
  const auto begin = load.since_boot();
  REQUIRE(begin.has_value());
  for (auto now = begin; now->total - begin->total < 0.08 * now->cpus; now = load.since_boot())
    continue;
  const auto shares = load.shares();
  REQUIRE(shares.has_value());
  CHECK(shares->foreign_fraction >= 0);
  CHECK(shares->foreign_fraction <= 1);
  CHECK(load.foreign_share().value() >= shares->steal_fraction);
  load.restart();
  CHECK_FALSE(load.shares().has_value());
}

}  // namespace
}  // namespace ptbench
