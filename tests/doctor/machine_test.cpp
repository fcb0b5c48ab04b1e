// What doctor finds, and where the program's own files are looked for.
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "src/base/install_paths.h"
#include "src/doctor/doctor.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

std::vector<FindingGroup> examine(const std::string& fixture) {
  return examine_machine(
      {.modules = fs::path(PTBENCH_TEST_MODULES) / fixture, .schema = "/nowhere/schema"});
}

const Finding& find(const std::vector<FindingGroup>& groups, const std::string& group,
                    const std::string& name) {
  for (const FindingGroup& candidate : groups)
    for (const Finding& finding : candidate.findings)
      if (candidate.name == group && finding.name == name) return finding;
  FAIL("no finding " << group << "/" << name);
  throw std::logic_error("unreachable");
}

}  // namespace

TEST_CASE("doctor tells what stands between this machine and a CUDA device") {
  CHECK(find(examine("nowhere"), "engines", "cuda").state == "module absent");
  CHECK(find(examine("missing_library"), "engines", "cuda").state == "library absent");
  CHECK(find(examine("driver_absent"), "engines", "cuda").state == "driver absent");
  CHECK(find(examine("no_device"), "engines", "cuda").state == "no device");
  CHECK_FALSE(find(examine("no_device"), "engines", "cuda").remedy.empty());
  const std::vector<FindingGroup> groups = examine("ok");
  CHECK(find(groups, "engines", "cuda").state == "ready");
  CHECK(find(groups, "devices", "cuda:0").detail == "Fake GPU, 80.0 GiB, compute capability 9.0");
  CHECK(find(groups, "libraries", "cuda_runtime").detail == "13.0");
  CHECK(find(groups, "libraries", "nvrtc").state == "ready");
  CHECK(find(groups, "cuda:0", "pci_bus_id").detail == "ABCD:3B:00.0");
  CHECK(find(groups, "cuda:0", "numa_node").detail == "the kernel does not say");
  CHECK(find(groups, "cuda:0", "peers").detail == "no other device's memory is in reach");
  const Finding& speed = find(groups, "cuda:0", "speed");  // this module has no engine
  CHECK(speed.state == "failed");
  CHECK_FALSE(speed.remedy.empty());
}

TEST_CASE("doctor tells without a device whether CUDA's compiler can be used") {
  const std::vector<FindingGroup> groups = examine("no_device");
  const Finding& nvrtc = find(groups, "libraries", "nvrtc");
  CHECK(nvrtc.state == "absent");
  CHECK(nvrtc.detail ==
        "libmade-up.so.13: cannot be opened; cuDNN compiles convolutions in bf16 and fp16 with it");
  CHECK(nvrtc.remedy == "install made-up");
}

TEST_CASE("doctor names what is missing together with a remedy") {
  const std::vector<FindingGroup> groups = examine("nowhere");
  const Finding& schema = find(groups, "files", "schema");
  CHECK(schema.state == "absent");
  CHECK_FALSE(schema.remedy.empty());
  CHECK(find(groups, "engines", "cpu").state == "ready");
  for (const char* engine : {"gloo", "mpi"}) {
    CHECK(find(groups, "engines", engine).state == "module absent");
    CHECK_FALSE(find(groups, "engines", engine).remedy.empty());
  }
  CHECK(std::get<std::int64_t>(find(groups, "processor", "memory_bytes").value) > 0);
  CHECK_FALSE(find(groups, "libraries", "onednn").detail.empty());

  const std::string text = doctor_text(groups, 100);
  CHECK(text.find("-> " + schema.remedy) != std::string::npos);
  std::set<std::string> names;
  for (const FindingGroup& group : groups) {
    CHECK(names.insert(group.name).second);
    CHECK(text.find(group.name + "\n") != std::string::npos);
  }
  CHECK(doctor_tables(groups).size() == groups.size());
}

TEST_CASE("doctor tells whether energy can be read, and why not") {
  const std::vector<FindingGroup> groups = examine("nowhere");
  const Finding& energy = find(groups, "processor", "energy");
  if (energy.state == "ready") {
    CHECK(std::get<std::int64_t>(energy.value) > 0);
  } else {
    CHECK(energy.state == "not readable");
    CHECK(energy.detail.find("powercap") != std::string::npos);
    CHECK(doctor_text(groups, 400).find("not readable: " + energy.detail) != std::string::npos);
  }
}

TEST_CASE("the kernel's choice stands in brackets") {
  CHECK(bracketed_choice("always [madvise] never") == "madvise");
  CHECK(bracketed_choice("[always] madvise never") == "always");
  CHECK(bracketed_choice("").empty());
  CHECK(bracketed_choice("always").empty());
  CHECK(bracketed_choice("]always[").empty());
}

TEST_CASE("an installed program finds its files beside itself, wherever the prefix lies") {
  const testing::TemporaryDirectory prefix;
  const InstallPaths paths = install_paths_of(prefix.path() / "bin" / "ptbench");
  CHECK(paths.modules.string().starts_with(prefix.path().string() + "/lib"));
  CHECK(paths.modules.filename() == "ptbench");
  CHECK(paths.schema == prefix.path() / "share/ptbench/schema");
}

TEST_CASE("a program in its build folder finds the files that were built with it") {
  const testing::TemporaryDirectory build;
  fs::create_directories(build.path() / "lib/ptbench");
  fs::create_directories(build.path() / "share/ptbench/schema");
  const InstallPaths paths = install_paths_of(build.path() / "ptbench");
  CHECK(paths.modules == build.path() / "lib/ptbench");
  CHECK(paths.schema == build.path() / "share/ptbench/schema");
}

}  // namespace ptbench
