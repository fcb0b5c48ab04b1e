#include "src/device/core_latency.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <vector>

#include "src/device/topology.h"
#include "tests/support/skip.h"

namespace ptbench {
namespace {

std::vector<int> all_cpus() {
  std::vector<int> cpus;
  for (const Core& core : discover_topology().cores) cpus.push_back(core.cpu);
  return cpus;
}

TEST_CASE("placement classes split between what was seen near and far", "[device]") {
  CHECK(placement_of(30e-9) == CorePlacement::near);
  CHECK(placement_of(80e-9) == CorePlacement::near);
  CHECK(placement_of(150e-9) == CorePlacement::far);
  CHECK(name_of(CorePlacement::near) == "near");
  CHECK(name_of(CorePlacement::far) == "far");
}

TEST_CASE("cores of a team have a latency", "[device]") {
  std::vector<int> cpus = all_cpus();
  if (cpus.size() < 2) testing::skip("one core has nobody to talk to");
  SECTION("all of them, in a ring") {}
  SECTION("two of them, as a pair") { cpus.resize(2); }
  Team team(cpus);
  const auto latency = worst_core_latency(team, 2, 50);
  REQUIRE(latency.has_value());
  CHECK(latency->seconds > 1e-9);
}

TEST_CASE("a ring of three cores and more comes round", "[device]") {
  // Numbers of CPUs that need not exist: members that cannot be pinned run where they like.
  Team team({0, 1001, 1002, 1003, 1004});
  const auto latency = worst_core_latency(team, 1, 5);
  REQUIRE(latency.has_value());
  CHECK(latency->seconds > 0);
}

TEST_CASE("a team on one CPU has no latency between cores", "[device]") {
  const int cpu = all_cpus().front();
  Team alone({cpu});
  CHECK_FALSE(worst_core_latency(alone).has_value());
  Team shared({cpu, cpu, cpu});
  CHECK_FALSE(worst_core_latency(shared).has_value());
}

TEST_CASE("members that share a CPU count once", "[device]") {
  const std::vector<int> cpus = all_cpus();
  if (cpus.size() < 2) testing::skip("one core has nobody to talk to");
  Team team({cpus[0], cpus[0], cpus[1], cpus[1]});
  CHECK(worst_core_latency(team, 1, 20).has_value());
}

TEST_CASE("a team works on after its latency was measured", "[device]") {
  Team team({0, 1001, 1002});
  for (int round = 0; round < 3; ++round) {
    (void)worst_core_latency(team, 1, 5);
    std::atomic<int> calls = 0;
    team.run([&](int) { ++calls; });
    CHECK(calls == 3);
  }
}

}  // namespace
}  // namespace ptbench
