#include "src/measure/machine_probe.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "src/device/cpu_device.h"
#include "src/device/topology.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

std::vector<int> some_cpus(std::size_t most) {
  std::vector<int> cpus;
  for (const Core& core : discover_topology().cores)
    if (cpus.size() < most) cpus.push_back(core.cpu);
  return cpus;
}

/// As long as the kernel needs to tell of load.
void compute_for_a_while(const std::vector<int>& cpus) {
  const CpuLoad watch(cpus);
  while (!watch.shares()) continue;
}

TEST_CASE("the probe tells what the cores of a team did", "[measure]") {
  const std::vector<int> cpus = some_cpus(2);
  CpuDevice device(discover_topology(), cpus);
  MachineProbe probe(device);
  for (int slice = 0; slice < 2; ++slice) {
    probe.begin();
    compute_for_a_while(cpus);
    const SliceConditions conditions = probe.end();
    CHECK(conditions.core_latency_begin.has_value() == (cpus.size() > 1));
    CHECK(conditions.core_latency_end.value_or(1) > 0);
    CHECK(conditions.frequency_hertz.value() > 0.1e9);  // another program may have had the core
    CHECK(conditions.frequency_hertz.value() < 10e9);
    CHECK(conditions.foreign_cpu_fraction.value() >= 0);
    CHECK(conditions.foreign_cpu_fraction.value() <= 1);
    CHECK(conditions.steal_fraction.value() <= 1);
  }
}

TEST_CASE("a slice too short for the kernel's ticks has no load", "[measure]") {
  const std::vector<int> cpus = some_cpus(2);
  CpuDevice device(discover_topology(), cpus);
  MachineProbe probe(device);
  const CpuLoad watch(cpus);
  probe.begin();
  const SliceConditions conditions = probe.end();
  if (!watch.shares()) {  // on a busy machine even this may take long enough
    CHECK_FALSE(conditions.foreign_cpu_fraction.has_value());
    CHECK_FALSE(conditions.steal_fraction.has_value());
  }
  CHECK(conditions.frequency_hertz.has_value());
}

TEST_CASE("the probe counts energy within a slice, where the machine tells it", "[measure]") {
  const testing::TemporaryDirectory root;
  const std::string zone = "sys/class/powercap/intel-rapl:0/";
  std::filesystem::create_directories(root.path() / zone);
  (void)root.write(zone + "name", "package-0\n");
  (void)root.write(zone + "energy_uj", "1000000\n");
  CpuDevice device(discover_topology(), some_cpus(1));
  MachineProbe probe(device, nullptr, EnergyMeter(root.path()));
  probe.begin();
  (void)root.write(zone + "energy_uj", "1250000\n");
  CHECK(probe.end().joules.value() == Approx(0.25));

  MachineProbe blind(device, nullptr, EnergyMeter(root.path() / "nowhere"));
  blind.begin();
  CHECK_FALSE(blind.end().joules.has_value());
}

TEST_CASE("a team of one core has no placement", "[measure]") {
  CpuDevice device(discover_topology(), some_cpus(1));
  MachineProbe probe(device);
  probe.begin();
  const SliceConditions conditions = probe.end();
  CHECK_FALSE(conditions.core_latency_begin.has_value());
  CHECK_FALSE(conditions.core_latency_end.has_value());
  CHECK_FALSE(conditions.cores_disturbed);
}

}  // namespace
}  // namespace ptbench
