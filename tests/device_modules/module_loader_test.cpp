#include "src/device/module_loader.h"

#include <catch2/catch.hpp>

#include "src/device/device_probe.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

Module load(const std::string& fixture, const std::string& interface = kDeviceProbeInterface) {
  return load_module(std::filesystem::path(PTBENCH_TEST_MODULES) / fixture, "cuda", interface,
                     kDeviceProbeAbi);
}

}  // namespace

TEST_CASE("a module gives the interface that it is asked for") {
  const Module module = load("ok");
  REQUIRE(module.loaded());
  DeviceProbeReport report{};
  static_cast<const DeviceProbe*>(module.interface)->probe(&report);
  CHECK(report.device_count == 1);
}

TEST_CASE("a module that is not there is absent") {
  const Module module = load("nowhere");
  CHECK(module.state == ModuleState::absent);
  CHECK(module.path.filename() == "libptbench_cuda.so");
}

TEST_CASE("a module whose library is missing names the library") {
  const Module module = load("missing_library");
  CHECK(module.state == ModuleState::library_absent);
  CHECK(module.detail == "libptbench_test_gone.so");
  CHECK(module.interface == nullptr);
}

TEST_CASE("a module of another version says both versions") {
  const Module module = load("other_version");
  CHECK(module.state == ModuleState::abi_mismatch);
  CHECK(module.detail == "its interface 'device_probe' has version 4, this ptbench needs 3");
}

TEST_CASE("modules that are none are unusable, with the reason") {
  CHECK(load("other_interface").state == ModuleState::unusable);
  CHECK(load("other_interface").detail == "it has no interface 'device_probe'");
  CHECK(load("ok", "something_else").detail == "it has no interface 'something_else'");
  CHECK(load("no_entry").state == ModuleState::unusable);
  CHECK(load("no_entry").detail.find("ptbench_module_interface") != std::string::npos);

  const testing::TemporaryDirectory directory;
  (void)directory.write("libptbench_cuda.so", "no library at all");
  const Module text = load_module(directory.path(), "cuda", kDeviceProbeInterface, kDeviceProbeAbi);
  CHECK(text.state == ModuleState::unusable);
  CHECK_FALSE(text.detail.empty());
}

TEST_CASE("what is wrong with a module is told with its remedy") {
  const ModuleFault absent = fault_of(load("nowhere"), "build it");
  CHECK(absent.detail.starts_with("there is no module "));
  CHECK(absent.detail.ends_with("libptbench_cuda.so"));
  CHECK(absent.remedy == "build it");
  CHECK(name_of(ModuleState::absent) == "module absent");
  const Module module = load("missing_library");
  CHECK(fault_of(module, "build it").detail == "the library libptbench_test_gone.so is missing");
  CHECK(fault_of(module, "build it").remedy ==
        "install what has libptbench_test_gone.so, or add its folder to LD_LIBRARY_PATH");
  CHECK(fault_of(module, "build it", "CUDA's runtime").remedy ==
        "install what has libptbench_test_gone.so (CUDA's runtime), or add its folder to "
        "LD_LIBRARY_PATH");
  CHECK(fault_of(load("other_version"), "build it").remedy ==
        "install the module that was built together with this ptbench");
}

TEST_CASE("the missing library is read out of the linker's message") {
  CHECK(missing_library("libcudart.so.13: cannot open shared object file: No such file or "
                        "directory") == "libcudart.so.13");
  CHECK(missing_library("/tmp/a.so: invalid ELF header").empty());
  CHECK(missing_library("").empty());
}

}  // namespace ptbench
