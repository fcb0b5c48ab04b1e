#include <catch2/catch.hpp>
#include <set>

#include "src/base/error.h"
#include "src/device/isa.h"
#include "src/device/memory.h"
#include "src/device/topology.h"

namespace ptbench {
namespace {

TEST_CASE("the topology lists cores that exist, each once", "[device]") {
  const Topology topology = discover_topology();
  REQUIRE_FALSE(topology.cores.empty());
  std::set<int> cpus;
  for (const Core& core : topology.cores) cpus.insert(core.cpu);
  CHECK(cpus.size() == topology.cores.size());
  CHECK(static_cast<int>(topology.cores.size()) <= topology.hardware_threads);
  CHECK(topology.memory_bytes > 0);
  CHECK_FALSE(topology.cpu_model.empty());
}

TEST_CASE("host memory is zero, aligned and released", "[device]") {
  HostMemorySource source;
  const Bytes bytes = GENERATE(Bytes{1}, Bytes{4096}, Bytes{3} << 20U);
  const Buffer buffer = source.allocate(bytes, "a test");
  CHECK(buffer.bytes() == bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
  for (const std::byte value : buffer.as<std::byte>()) REQUIRE(value == std::byte{0});
  const Buffer nothing = source.allocate(0, "nothing");
  CHECK(nothing.as<float>().empty());
}

TEST_CASE("memory that is not there is a usage error that says what for", "[device]") {
  HostMemorySource source;
  try {
    (void)source.allocate(Bytes{1} << 62U, "activations");
    FAIL("nobody has that much");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_THAT(error.what(), Catch::Contains("activations"));
  }
}

TEST_CASE("available memory is more than nothing and less than the machine's", "[device]") {
  CHECK(available_memory() > 0);
  CHECK(available_memory() <= discover_topology().memory_bytes);
  CHECK(peak_resident_memory().total() > Bytes{1} << 20U);
}

TEST_CASE("the instruction set has a name", "[device]") {
  CHECK(name_of(Isa::x86_64_v3) == "x86-64-v3");
  CHECK_FALSE(name_of(detect_isa()).empty());
}

}  // namespace
}  // namespace ptbench
