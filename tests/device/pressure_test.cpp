#include "src/device/pressure.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// A root folder with the kernel's files in it.
class FakeRoot {
 public:
  void write(const std::string& name, const std::string& contents) const {
    fs::create_directories((path() / name).parent_path());
    (void)directory_.write(name, contents);
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

 private:
  testing::TemporaryDirectory directory_;
};

std::string stat_v2(int periods, int microseconds) {
  return "usage_usec 1000\nnr_periods 90\nnr_throttled " + std::to_string(periods) +
         "\nthrottled_usec " + std::to_string(microseconds) + "\nnr_bursts 0\n";
}

TEST_CASE("an empty machine tells nothing", "[device]") {
  const FakeRoot root;
  CHECK(read_pressure(root.path()) == Pressure());
  CHECK_FALSE(cpu_quota(root.path()).has_value());
}

TEST_CASE("throttling of a version 2 control group counts those above it", "[device]") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/pod/container\n");
  root.write("sys/fs/cgroup/cpu.stat", "usage_usec 5000\n");
  root.write("sys/fs/cgroup/pod/cpu.stat", stat_v2(2, 500000));
  root.write("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/pod/container/cpu.stat", stat_v2(3, 1000000));
  root.write("sys/fs/cgroup/pod/container/cpu.max", "150000 100000\n");
  const Pressure pressure = read_pressure(root.path());
  CHECK(pressure.throttled_periods == Size{5});
  CHECK(pressure.throttled_seconds.value() == Approx(1.5));
  CHECK(cpu_quota(root.path()).value() == Approx(1.5));
}

TEST_CASE("the tightest quota on the way up holds", "[device]") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/pod/container\n");
  root.write("sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
  root.write("sys/fs/cgroup/pod/container/cpu.max", "400000 100000\n");
  CHECK(cpu_quota(root.path()).value() == Approx(0.5));
}

TEST_CASE("a version 1 control group names its controllers", "[device]") {
  const FakeRoot root;
  const std::string folder = GENERATE("cpu,cpuacct", "cpu");
  root.write("proc/self/cgroup", "9:cpuset:/elsewhere\n4:cpu,cpuacct:/job\n0::/ignored\n");
  root.write("sys/fs/cgroup/" + folder + "/job/cpu.stat",
             "nr_periods 10\nnr_throttled 4\nthrottled_time 2000000000\n");
  root.write("sys/fs/cgroup/" + folder + "/job/cpu.cfs_quota_us", "300000\n");
  root.write("sys/fs/cgroup/" + folder + "/job/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/" + folder + "/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/" + folder + "/cpu.cfs_period_us", "100000\n");
  const Pressure pressure = read_pressure(root.path());
  CHECK(pressure.throttled_periods == Size{4});
  CHECK(pressure.throttled_seconds.value() == Approx(2.0));
  CHECK(cpu_quota(root.path()).value() == Approx(3.0));
}

TEST_CASE("two names of one version 1 hierarchy count once", "[device]") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:cpu,cpuacct:/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_throttled 4\nthrottled_time 0\n");
  fs::create_directory_symlink("cpu,cpuacct", root.path() / "sys/fs/cgroup/cpu");
  CHECK(read_pressure(root.path()).throttled_periods == Size{4});
}

TEST_CASE("a container finds its control group at the mount", "[device]") {
  const FakeRoot root;
  root.write("proc/self/cgroup", GENERATE("0::/docker/4711\n", "0::/../other\n", "0::/\n"));
  root.write("sys/fs/cgroup/cpu.stat", stat_v2(7, 0));
  root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  root.write("cpu.stat", stat_v2(1000, 0));  // outside of the mount
  CHECK(read_pressure(root.path()).throttled_periods == Size{7});
  CHECK(cpu_quota(root.path()).value() == Approx(2.0));
}

TEST_CASE("thermal throttling is added up over CPUs", "[device]") {
  const FakeRoot root;
  const std::string cpus = "sys/devices/system/cpu/";
  root.write(cpus + "cpu0/thermal_throttle/core_throttle_count", "12\n");
  root.write(cpus + "cpu13/thermal_throttle/core_throttle_count", "3\n");
  root.write(cpus + "cpu2/topology/core_id", "2\n");
  root.write(cpus + "cpufreq/thermal_throttle/core_throttle_count", "100\n");
  CHECK(read_pressure(root.path()).thermal_throttles == Size{15});
}

TEST_CASE("swapping is told in bytes", "[device]") {
  const FakeRoot root;
  root.write("proc/vmstat", "nr_free_pages 12\npswpin 3\npswpout 4\npswpout_other 9\n");
  root.write("proc/self/status", "Name:\tptbench\nVmSwap:\t      12 kB\n");
  const Pressure pressure = read_pressure(root.path());
  CHECK(pressure.swapped_bytes == Bytes{7} * static_cast<Bytes>(sysconf(_SC_PAGESIZE)));
  CHECK(pressure.own_swap_bytes == Bytes{12} * 1024);
}

TEST_CASE("files that hold no numbers tell nothing", "[device]") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "nonsense\n:\n0::\n");
  root.write("sys/fs/cgroup/cpu.stat", "nr_throttled\nthrottled_usec x\n");
  root.write("sys/fs/cgroup/cpu.max", "a b\n");
  root.write("proc/vmstat", "pswpin");
  root.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "");
  CHECK(read_pressure(root.path()) == Pressure());
  CHECK_FALSE(cpu_quota(root.path()).has_value());
}

TEST_CASE("a watch counts from its making", "[device]") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/status", "VmSwap:\t8 kB\n");
  root.write("sys/fs/cgroup/cpu.stat", stat_v2(7, 1000000));
  const PressureMeter watch(root.path());
  CHECK(watch.so_far().throttled_periods == Size{0});
  root.write("sys/fs/cgroup/cpu.stat", stat_v2(9, 1500000));
  const Pressure pressure = watch.so_far();
  CHECK(pressure.throttled_periods == Size{2});
  CHECK(pressure.throttled_seconds.value() == Approx(0.5));
  CHECK(pressure.own_swap_bytes == Bytes{8} * 1024);
  CHECK_FALSE(pressure.thermal_throttles.has_value());
  root.write("sys/fs/cgroup/cpu.stat", stat_v2(1, 0));  // made anew
  CHECK(watch.so_far().throttled_periods == Size{0});
}

TEST_CASE("this machine's own counters can be read", "[device]") {
  const PressureMeter watch;
  const Pressure pressure = watch.so_far();
  CHECK(pressure.throttled_periods.value_or(0) >= 0);
  CHECK(cpu_quota().value_or(1) > 0);
}

}  // namespace
}  // namespace ptbench
