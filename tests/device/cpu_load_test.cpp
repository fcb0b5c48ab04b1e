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
  const auto load = load_of(time_between(begin, end).value());
  REQUIRE(load.has_value());
  CHECK(load->foreign_fraction == Approx(0.1));
  CHECK(load->steal_fraction == Approx(0.05));

  end.own = 30;  // ticks and the scheduler's own count disagree; or we ran on other CPUs too
  CHECK(load_of(time_between(begin, end).value())->foreign_fraction == 0);
}

TEST_CASE("windows of the same CPUs add up", "[device]") {
  const CpuTimes begin{.cpus = 2, .total = 100, .busy = 50, .steal = 1, .own = 20, .elapsed = 7};
  const CpuTimes end{.cpus = 2, .total = 102, .busy = 51, .steal = 1.5, .own = 20.5, .elapsed = 9};
  const CpuTimes window = time_between(begin, end).value();
  CHECK(window.total == 2);
  CHECK(window.busy == 1);
  CHECK(window.steal == 0.5);
  CHECK(window.own == 0.5);
  CHECK(window.elapsed == 2);
  const CpuTimes both = window + window;
  CHECK(both.cpus == 2);
  CHECK(both.total == 4);
  CHECK(both.busy == 2);
  CHECK(both.steal == 1);
  CHECK(both.own == 1);
  CHECK(both.elapsed == 4);
}

TEST_CASE("time that was not idle was busy, whatever ticks say", "[device]") {
  // One CPU that this process had all the time, while the kernel counted two ticks too many.
  CpuTimes window{.cpus = 1, .total = 1.02, .busy = 1.02, .own = 1, .elapsed = 1};
  CHECK(load_of(window)->foreign_fraction == Approx(0.0).margin(1e-12));
  window.own = 0.6;
  CHECK(load_of(window)->foreign_fraction == Approx(0.4));
  window.busy = 0.62;  // idle for the rest
  CHECK(load_of(window)->foreign_fraction == Approx(0.0).margin(1e-12));
  SECTION("where the kernel does not tell of all time, what it tells counts") {
    window = {.cpus = 1, .total = 0.5, .busy = 0.25, .own = 0.2, .elapsed = 1};
    CHECK(load_of(window)->foreign_fraction == Approx(0.1));
  }
}

TEST_CASE("load below the kernel's resolution is not known", "[device]") {
  const CpuTimes begin{.cpus = 2, .total = 100, .busy = 50, .steal = 1, .own = 20};
  CpuTimes end = begin;
  end.total += 0.09;  // 45 ms of two CPUs
  CHECK_FALSE(load_of(time_between(begin, end).value()).has_value());
  end.total += 0.02;
  CHECK(load_of(time_between(begin, end).value()).has_value());
  end.cpus = 1;  // one went offline
  CHECK_FALSE(time_between(begin, end).has_value());
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
