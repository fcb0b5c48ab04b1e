// What doctor measures of a device, on one that every machine has.
#include "app/doctor/device_speed.h"

#include <catch2/catch.hpp>

#include "src/device/topology.h"

namespace ptbench {
namespace {

using Catch::Contains;

const Finding& named(const std::vector<Finding>& findings, const std::string& name) {
  for (const Finding& finding : findings)
    if (finding.name == name) return finding;
  FAIL("no finding " << name);
  throw std::logic_error("unreachable");
}

}  // namespace

TEST_CASE("products and copies of a device are measured in plain units") {
  const Site site = open_site({.topology = discover_topology()});
  const std::vector<Finding> findings = examine_speed(site, {"fp32"}, Bytes{1} << 20U);
  CHECK(findings.size() == 4);
  const Finding& products = named(findings, "fp32_product_flops_per_second");
  CHECK(products.state == "note");
  CHECK(std::get<double>(products.value) > 1e8);
  CHECK_THAT(products.detail, Contains("FLOP/s: multiply-adds, threads: 1"));
  for (const char* name : {"copy_bytes_per_second", "copy_from_host_bytes_per_second",
                           "copy_to_host_bytes_per_second"}) {
    const Finding& copy = named(findings, name);
    CHECK(std::get<double>(copy.value) > 1e6);
    CHECK_THAT(copy.detail, Contains("copies of 1.00 MiB"));
  }
}

TEST_CASE("copies between two devices are measured, and told how they go") {
  const Site one = open_site({.topology = discover_topology()});
  const Site other = open_site({.topology = discover_topology()});
  const Finding copy = examine_copies_between(one, other, "straight to its memory", 1U << 20U);
  CHECK(copy.name == "copy_to_cpu_bytes_per_second");
  CHECK(copy.state == "note");
  CHECK(std::get<double>(copy.value) > 1e6);
  CHECK_THAT(copy.detail, Contains("B/s, straight to its memory, copies of 1.00 MiB"));
}

TEST_CASE("what a device does not multiply has no value") {
  const Site site = open_site({.topology = discover_topology()});
  const std::vector<Finding> findings = examine_speed(site, {"fp16"}, Bytes{1} << 16U);
  CHECK(named(findings, "fp16_product_flops_per_second").value == FieldValue());
}

}  // namespace ptbench
