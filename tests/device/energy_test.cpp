#include "src/device/energy.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// A root folder with counters in it, as the kernel shows them.
class FakeRoot {
 public:
  void zone(const std::string& zone, const std::string& name, const std::string& counter,
            const std::string& range = "262143328850\n") const {
    write(zone + "/name", name + "\n");
    write(zone + "/max_energy_range_uj", range);
    set(zone, counter);
  }
  /// What the counter of that zone shows from now on, with the file kept open.
  void set(const std::string& zone, const std::string& counter) const {
    write(zone + "/energy_uj", counter + "\n");
  }
  [[nodiscard]] fs::path counter(const std::string& zone) const {
    return folder() / zone / "energy_uj";
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

 private:
  [[nodiscard]] fs::path folder() const { return path() / "sys/class/powercap"; }
  void write(const std::string& name, const std::string& contents) const {
    fs::create_directories((folder() / name).parent_path());
    (void)directory_.write("sys/class/powercap/" + name, contents);
  }

  testing::TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("a machine without counters tells no energy, and why", "[device]") {
  const FakeRoot root;
  EnergyMeter meter(root.path());
  CHECK_THAT(meter.reason(), Contains("sys/class/powercap") && Contains("no CPU package"));
  CHECK(meter.packages() == 0);
  meter.begin();
  CHECK_FALSE(meter.end().has_value());
}

TEST_CASE("joules are those of all packages since the beginning", "[device]") {
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "1000000");
  root.zone("intel-rapl:1", "package-1", "5");
  EnergyMeter meter(root.path());
  CHECK(meter.reason().empty());
  CHECK(meter.packages() == 2);
  CHECK_FALSE(meter.end().has_value());  // nothing has begun
  meter.begin();
  root.set("intel-rapl:0", "3500000");
  root.set("intel-rapl:1", "500005");
  CHECK(meter.end().value() == Approx(3.0));
  meter.begin();
  CHECK(meter.end().value() == 0);
}

TEST_CASE("zones that count a package once more, or more than packages, are left out", "[device]") {
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "0");
  root.zone("intel-rapl:0:0", "core", "0");
  root.zone("intel-rapl:0:1", "dram", "0");
  root.zone("intel-rapl:1", "psys", "0");
  root.zone("intel-rapl-mmio:0", "package-0", "0");
  EnergyMeter meter(root.path());
  CHECK(meter.packages() == 1);
  meter.begin();
  for (const char* zone :
       {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl-mmio:0"})
    root.set(zone, "2000000");
  CHECK(meter.end().value() == Approx(2.0));
}

TEST_CASE("a counter that begins anew is followed", "[device]") {
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "9000000", "10000000\n");
  EnergyMeter meter(root.path());
  meter.begin();
  root.set("intel-rapl:0", "500000");
  CHECK(meter.end().value() == Approx(1.5));
}

TEST_CASE("a counter that begins anew at nobody knows what tells nothing", "[device]") {
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "9000000", "");
  EnergyMeter meter(root.path());
  meter.begin();
  root.set("intel-rapl:0", "500000");
  CHECK_FALSE(meter.end().has_value());
}

TEST_CASE("of packages of which one has no number, none is told", "[device]") {
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "1");
  root.zone("intel-rapl:1", "package-1", "");
  EnergyMeter meter(root.path());
  CHECK_THAT(meter.reason(), Contains("intel-rapl:1/energy_uj"));
  CHECK(meter.packages() == 0);
  CHECK_FALSE(meter.end().has_value());
}

TEST_CASE("counters that this user may not read are named, with the remedy", "[device]") {
  if (geteuid() == 0) testing::skip("root may read everything");
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "1");
  fs::permissions(root.counter("intel-rapl:0"), fs::perms::none);
  const EnergyMeter meter(root.path());
  CHECK_THAT(meter.reason(), Contains("energy_uj") && Contains("denied"));
  CHECK_THAT(meter.remedy(), Contains("chmod"));
}

TEST_CASE("a meter that was moved goes on counting", "[device]") {
  const FakeRoot root;
  root.zone("intel-rapl:0", "package-0", "0");
  EnergyMeter meter(root.path());
  meter.begin();
  const EnergyMeter moved = std::move(meter);
  root.set("intel-rapl:0", "1000000");
  CHECK(moved.end().value() == Approx(1.0));
}

}  // namespace ptbench
