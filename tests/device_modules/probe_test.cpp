#include "src/device/probe.h"

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

CudaProbe probe(const std::string& fixture) {
  return probe_cuda(std::filesystem::path(PTBENCH_TEST_MODULES) / fixture);
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a device that the module finds is described") {
  const CudaProbe found = probe("ok");
  REQUIRE(found.state == CudaState::found);
  REQUIRE(found.devices.size() == 1);
  CHECK(found.devices[0].id == "cuda:0");
  CHECK(found.devices[0].name == "Fake GPU");
  CHECK(found.devices[0].memory_bytes == Bytes{80} << 30U);
  CHECK(found.devices[0].compute_capability == "9.0");
  CHECK(found.driver_version == "13.1");
  CHECK(found.runtime_version == "13.0");
  CHECK(found.remedy.empty());
}

TEST_CASE("the place of a device is told where it is known") {
  const CudaProbe found = probe("ok");
  const std::vector<CudaPlace> places =
      find_cuda_places(std::filesystem::path(PTBENCH_TEST_MODULES) / "ok", found);
  REQUIRE(places.size() == 1);
  CHECK(places[0].pci_bus_id == "ABCD:3B:00.0");
  CHECK(places[0].peers.empty());
  CHECK(find_cuda_places("/nowhere", probe("nowhere")).empty());
}

TEST_CASE("what the module tells of the devices' doings is passed on") {
  const CudaTelemetry watch = watch_cuda(std::filesystem::path(PTBENCH_TEST_MODULES) / "ok");
  CHECK(watch.state == "ready");
  CHECK(watch.driver_version == "580.0");
  CHECK(watch.detail == "cuda:0: made up");
  CHECK(watch.remedy.empty());
  const CudaTelemetry none = watch_cuda(std::filesystem::path(PTBENCH_TEST_MODULES) / "nowhere");
  CHECK(none.state == "failed");
  CHECK(mentions(none.detail, "libptbench_cuda.so"));
}

TEST_CASE("whether CUDA's compiler can be used is passed on, and what is missing otherwise") {
  const auto find = [](const char* fixture) {
    return find_cuda_compiler(std::filesystem::path(PTBENCH_TEST_MODULES) / fixture);
  };
  const CudaCompiler ready = find("ok");
  CHECK(ready.state == "ready");
  CHECK(ready.version == "13.0");
  CHECK(ready.detail.empty());
  CHECK(ready.remedy.empty());
  const CudaCompiler absent = find("no_device");
  CHECK(absent.state == "absent");
  CHECK(absent.version.empty());
  CHECK(absent.detail == "libmade-up.so.13: cannot be opened");
  CHECK(absent.remedy == "install made-up");
  CHECK(find("nowhere").state == "failed");
  CHECK(mentions(find("nowhere").detail, "libptbench_cuda.so"));
}

TEST_CASE("whatever is missing on the way to a device is told apart, with its remedy") {
  struct Case {
    const char* fixture;
    CudaState state;
    const char* detail;
    const char* remedy;
  };
  const std::vector<Case> cases{
      {"nowhere", CudaState::module_absent, "libptbench_cuda.so", "PTBENCH_CUDA=ON"},
      {"missing_library", CudaState::library_absent, "libptbench_test_gone.so", "LD_LIBRARY_PATH"},
      {"other_version", CudaState::abi_mismatch, "version 4", "built together"},
      {"no_entry", CudaState::module_unusable, "libptbench_cuda.so", "build"},
      {"driver_absent", CudaState::driver_absent, "libcuda.so.1", "driver"},
      {"driver_too_old", CudaState::driver_too_old, "12.4", "newer driver"},
      {"no_device", CudaState::no_device, "no CUDA device", "CUDA_VISIBLE_DEVICES"},
      {"failed", CudaState::failed, "made up", "nvidia-smi"}};
  for (const Case& expected : cases) {
    INFO(expected.fixture);
    const CudaProbe seen = probe(expected.fixture);
    CHECK(seen.state == expected.state);
    CHECK(mentions(seen.detail, expected.detail));
    CHECK(mentions(seen.remedy, expected.remedy));
    CHECK(seen.devices.empty());

    const Error error = cuda_absent_error("cuda:1", seen);
    CHECK(error.code() == ExitCode::capability);
    CHECK(mentions(error.what(), "--device cuda:1"));
    CHECK(error.remedy() == seen.remedy);
  }
}

}  // namespace ptbench
