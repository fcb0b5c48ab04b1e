#include "src/measure/machine_probe.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/device/cpu_device.h"
#include "src/device/frequency.h"
#include "src/device/host_device.h"
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
    CHECK_FALSE(conditions.mean_frequency_hertz.has_value());  // nobody glanced
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

/// What a device tells at its next look.
struct Told {
  std::vector<DeviceConditions> looks;
  std::size_t next = 0;
  [[nodiscard]] DeviceConditions look() { return looks.at(next++); }
};

/// A device that tells what it is told to.
class TellingDevice final : public Device {
 public:
  explicit TellingDevice(Told told) : told_(std::move(told)) {}
  [[nodiscard]] std::string id() const override { return "telling:0"; }
  [[nodiscard]] std::string name() const override { return "a device that tells"; }
  [[nodiscard]] Bytes memory_bytes() const override { return 0; }
  [[nodiscard]] MemorySource& memory() override { return host_.memory(); }
  [[nodiscard]] bool shares_memory_with_host() const override { return true; }
  [[nodiscard]] MemorySource& page_locked_memory() override { return host_.memory(); }
  [[nodiscard]] Queue& compute() override { return host_.compute(); }
  [[nodiscard]] Queue& transfer() override { return host_.transfer(); }
  void finish() override {}
  [[nodiscard]] DeviceConditions look() override { return told_.look(); }

 private:
  HostDevice host_;
  Told told_;
};

/// One more device.
class OnePeer final : public ProbePeers {
 public:
  explicit OnePeer(Told told) : told_(std::move(told)) {}
  [[nodiscard]] std::vector<int> cpus() const override { return {}; }
  [[nodiscard]] std::vector<DeviceConditions> look() override {
    return {told_.look(), {.has_latency = true, .latency = {.seconds = 1e-7}}};
  }

 private:
  Told told_;
};

DeviceConditions accelerator(double hertz, const AcceleratorConditions& conditions) {
  DeviceConditions all;
  all.frequency_hertz = hertz;
  all.accelerator = conditions;
  return all;
}

const AcceleratorConditions kCool{.temperature_celsius = 50,
                                  .throttling = ThrottleReasons{0x1},
                                  .other_processes = 2,
                                  .foreign_fraction = 0.9,  // before the slice
                                  .joules = 1000};
const AcceleratorConditions kWarm{.temperature_celsius = 71,
                                  .throttling = ThrottleReasons{0x4},
                                  .other_processes = 1,
                                  .foreign_fraction = 0.2,
                                  .joules = 1150};

TEST_CASE("the probe tells what a device told at both ends", "[measure]") {
  TellingDevice device({{accelerator(1.9e9, kCool), accelerator(1.6e9, kWarm)}});
  MachineProbe probe(device);
  probe.begin();
  std::this_thread::sleep_for(kBetweenGlances);
  probe.glance();  // at cores, which do not compute the step
  const SliceConditions slice = probe.end();
  CHECK(slice.frequency_hertz == 1.6e9);
  CHECK(slice.mean_frequency_hertz == 1.75e9);
  CHECK(slice.device_temperature_celsius == 71);
  REQUIRE(slice.device_throttling.has_value());
  CHECK(slice.device_throttling->bits == 0x5);
  CHECK_FALSE(slice.device_unwatched);
  CHECK(slice.device_other_processes == 2);
  CHECK(slice.device_foreign_fraction == 0.2);
  CHECK(slice.device_joules == 150);
}

TEST_CASE("the clock of cores is seen in passing, not at the ends", "[measure]") {
  DeviceConditions slow;
  slow.frequency_hertz = 1;
  TellingDevice device({{slow, slow}});
  MachineProbe probe(device);
  probe.begin();
  for (int glance = 0; glance < 10; ++glance) {
    std::this_thread::sleep_for(kBetweenGlances);
    probe.glance();
  }
  const SliceConditions slice = probe.end();
  CHECK(slice.frequency_hertz == 1);
  REQUIRE(slice.mean_frequency_hertz.has_value());
  CHECK(*slice.mean_frequency_hertz > 0.1e9);
}

TEST_CASE("several devices are told together", "[measure]") {
  TellingDevice device({{accelerator(1.9e9, kCool), accelerator(1.6e9, kWarm)}});
  OnePeer peer({{accelerator(1.2e9, kWarm), accelerator(1.3e9, kWarm)}});
  MachineProbe probe(device, &peer);
  probe.begin();
  const SliceConditions slice = probe.end();
  CHECK(slice.frequency_hertz == 1.2e9);
  CHECK(slice.core_latency_end == 1e-7);
  CHECK(slice.device_other_processes == 3);
  CHECK(slice.device_joules == 150);  // the other one used nothing
}

TEST_CASE("what a device does not tell stays unknown", "[measure]") {
  AcceleratorConditions without_energy = kWarm;
  without_energy.joules.reset();
  without_energy.foreign_fraction.reset();
  TellingDevice device({{accelerator(1.9e9, kCool), accelerator(1.6e9, without_energy)}});
  MachineProbe probe(device);
  probe.begin();
  const SliceConditions slice = probe.end();
  CHECK_FALSE(slice.device_joules.has_value());
  CHECK_FALSE(slice.device_foreign_fraction.has_value());

  OnePeer silent({{accelerator(1e9, {}), accelerator(1e9, {})}});
  TellingDevice telling({{accelerator(1.9e9, kCool), accelerator(1.6e9, kWarm)}});
  MachineProbe both(telling, &silent);
  both.begin();
  const SliceConditions part = both.end();
  CHECK_FALSE(part.device_joules.has_value());  // a part would be too little
  CHECK(part.device_temperature_celsius == 71);

  TellingDevice cpu_like({{DeviceConditions{}, DeviceConditions{}}});
  MachineProbe nothing(cpu_like);
  nothing.begin();
  const SliceConditions empty = nothing.end();
  CHECK_FALSE(empty.frequency_hertz.has_value());
  CHECK_FALSE(empty.mean_frequency_hertz.has_value());
  CHECK_FALSE(empty.device_throttling.has_value());
  CHECK_FALSE(empty.device_unwatched);  // it is no accelerator

  TellingDevice mute({{accelerator(1e9, {}), accelerator(1e9, {})}});
  MachineProbe blind(mute);
  blind.begin();
  CHECK(blind.end().device_unwatched);
}

TEST_CASE("an energy counter that begins anew tells nothing of its slice", "[measure]") {
  AcceleratorConditions anew = kWarm;
  anew.joules = 3;
  TellingDevice device({{accelerator(1.9e9, kCool), accelerator(1.6e9, anew)}});
  MachineProbe probe(device);
  probe.begin();
  CHECK_FALSE(probe.end().device_joules.has_value());
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
