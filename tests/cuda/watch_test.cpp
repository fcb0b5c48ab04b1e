// What is known of a GPU besides its results: clocks, heat, throttling, other processes, energy, as
// the driver's management library tells them. Its shadow tells what the environment says.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cuda/device.h"
#include "tests/run/command.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using Strings = std::vector<std::string>;

/// A variable of the shadow, for a while.
class Told {
 public:
  Told(std::string name, const std::string& value) : name_("PTBENCH_EMULATOR_" + std::move(name)) {
    REQUIRE(setenv(name_.c_str(), value.c_str(), 1) == 0);
  }
  ~Told() { (void)unsetenv(name_.c_str()); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

 private:
  std::string name_;
};

AcceleratorConditions look_at(const Site& site) {
  const DeviceConditions conditions = site.device->look();
  REQUIRE(conditions.accelerator.has_value());
  return *conditions.accelerator;
}

/// A few steps of linear on the device, where the environment also has these variables.
ProgramResult train(const RunCommand& run, Strings environment, Strings command = {}) {
  for (const char* word : {PTBENCH_EXECUTABLE, "run", "-w", "linear", "--device", "cuda",
                           "--verify", "off", "--steps", "3", "-o", "r.json"})
    command.emplace_back(word);
  environment.push_back("XDG_CACHE_HOME=" + run.path("cache").string());
  ProgramResult result =
      run_program(command, {.folder = run.path("."), .environment = environment});
  CAPTURE(result.output, result.errors);
  CHECK(result.exit_code == 0);
  return result;
}

nlohmann::json record_with(const Strings& environment) {
  const RunCommand run;
  (void)train(run, environment);
  return run.json("r.json")["runs"][0];
}

/// The warning of that code; null where there is none.
nlohmann::json warning_of(const nlohmann::json& record, const std::string& code) {
  for (const auto& warning : record["warnings"])
    if (warning["code"] == code) return warning;
  return nullptr;
}

}  // namespace

TEST_CASE("a device tells its clock, temperature and energy", "[cuda]") {
  require_emulated_device();
  const Told clock("CLOCK", "1755");
  const Told temperature("TEMPERATURE", "63");
  const Told energy("ENERGY", "2500");
  const Site site = open_cuda_site();
  CHECK_FALSE(site.device->throttling_gap().has_value());
  const DeviceConditions begin = site.device->look();
  const DeviceConditions end = site.device->look();
  CHECK(begin.frequency_hertz == 1.755e9);
  REQUIRE((begin.accelerator && end.accelerator));
  CHECK(begin.accelerator->temperature_celsius == 63);
  CHECK(end.accelerator->joules.value() - begin.accelerator->joules.value() == Approx(2.5));
}

TEST_CASE("a device tells why its clocks are low", "[cuda]") {
  require_emulated_device();
  const Site site = open_cuda_site();
  CHECK(look_at(site).throttling.value().bits == 0);
  const Told reasons("THROTTLE", "0x44");
  const ThrottleReasons told = look_at(site).throttling.value();
  CHECK(names_of(told) == Strings{"sw_power_cap", "hw_thermal_slowdown"});
}

TEST_CASE("other processes of a device are those that are not this one", "[cuda]") {
  require_emulated_device();
  const Site site = open_cuda_site();
  CHECK(look_at(site).other_processes == 0);
  CHECK(look_at(site).foreign_fraction == 0.0);
  SECTION("that compute") {
    const Told foreign("FOREIGN", "4194000:30");
    const AcceleratorConditions conditions = look_at(site);
    CHECK(conditions.other_processes == 1);
    CHECK(conditions.foreign_fraction.value() == Approx(0.3));
  }
  SECTION("that only hold it") {
    const Told foreign("FOREIGN", "4194000:0:3");
    const AcceleratorConditions conditions = look_at(site);
    CHECK(conditions.other_processes == 3);
    CHECK(conditions.foreign_fraction == 0.0);
  }
  SECTION("whose share is none") {
    const Told foreign("FOREIGN", "4194000:4000000");
    CHECK(look_at(site).foreign_fraction == 0.0);
  }
  SECTION("more than there was room for") {
    const Told foreign("FOREIGN", "4194000:7:150");
    const AcceleratorConditions conditions = look_at(site);
    CHECK(conditions.other_processes == 150);
    CHECK(conditions.foreign_fraction.value() == Approx(0.07));
  }
  SECTION("that ended before the last look") {
    {
      const Told foreign("FOREIGN", "4194000:30");
      (void)look_at(site);
    }
    CHECK(look_at(site).other_processes == 0);
    CHECK(look_at(site).foreign_fraction == 0.0);
  }
}

TEST_CASE("in another namespace of process ids nobody knows who is foreign", "[cuda]") {
  require_emulated_device();
  const Told elsewhere("NVML", "elsewhere");
  const Told foreign("FOREIGN", "4194000:30");
  const Site site = open_cuda_site();
  const AcceleratorConditions conditions = look_at(site);
  CHECK_FALSE(conditions.other_processes.has_value());
  CHECK_FALSE(conditions.foreign_fraction.has_value());
  CHECK(conditions.temperature_celsius.has_value());
  CHECK_FALSE(site.device->throttling_gap().has_value());
}

TEST_CASE("what the library does not tell is not known, with the reason", "[cuda]") {
  require_emulated_device();
  const bool fails = GENERATE(true, false);
  const Told state("NVML", fails ? "failed" : "silent");
  const Site site = open_cuda_site();
  const DeviceConditions conditions = site.device->look();
  CHECK_FALSE(conditions.frequency_hertz.has_value());
  REQUIRE(conditions.accelerator.has_value());
  CHECK_FALSE(conditions.accelerator->temperature_celsius.has_value());
  CHECK_FALSE(conditions.accelerator->throttling.has_value());
  CHECK_FALSE(conditions.accelerator->other_processes.has_value());
  CHECK_FALSE(conditions.accelerator->foreign_fraction.has_value());
  CHECK_FALSE(conditions.accelerator->joules.has_value());
  const auto gap = site.device->throttling_gap();
  REQUIRE(gap.has_value());
  CHECK(gap->reason == (fails ? "nvmlInit_v2: Driver Not Loaded"
                              : "nvmlDeviceGetCurrentClocksEventReasons: Not Supported"));
  CHECK_THAT(gap->remedy, Contains("nvidia-smi"));
}

/// LD_LIBRARY_PATH with that folder first.
std::string found_first_in(const std::filesystem::path& folder) {
  const char* others = std::getenv("LD_LIBRARY_PATH");
  return "LD_LIBRARY_PATH=" + folder.string() +
         (others == nullptr ? "" : ":" + std::string(others));
}

TEST_CASE("functions that the management library lacks are named, and end no run", "[cuda]") {
  require_emulated_device();
  const RunCommand run;
  std::string libraries = PTBENCH_OLD_LIBRARIES;
  SECTION("all of them") {
    libraries = run.path(".").string();
    std::filesystem::create_symlink(PTBENCH_EMPTY_LIBRARY, run.path("libnvidia-ml.so.1"));
    (void)train(run, {found_first_in(libraries)});
    const auto record = run.json("r.json")["runs"][0];
    CHECK(record["status"] == "ok");
    CHECK(record["samples"]["slices"].empty());
    CHECK_THAT(warning_of(record, "device-not-watched")["message"].get<std::string>(),
               Contains("nvmlInit_v2: libnvidia-ml.so.1 has no such function"));
  }
  SECTION("some") {
    (void)train(run, {found_first_in(libraries), "PTBENCH_EMULATOR_THROTTLE=0x40"});
    const auto record = run.json("r.json")["runs"][0];
    const auto slice = record["samples"]["slices"].at(0);
    CHECK(slice["device_throttle_reasons"] == nlohmann::json{"hw_thermal_slowdown"});
    CHECK(slice["device_temperature_celsius"] == 40);
    CHECK(slice["device_other_processes"].is_null());
    CHECK(warning_of(record, "device-not-watched").is_null());
    const ProgramResult doctor = run_program({PTBENCH_EXECUTABLE, "doctor", "--json"},
                                             {.environment = {found_first_in(libraries)}});
    CHECK(doctor.exit_code == 0);
    CHECK_THAT(doctor.output,
               Contains("not known: energy (libnvidia-ml.so.1 has no such function)"));
  }
}

TEST_CASE("a slice in which the device was throttled is not clean", "[cuda]") {
  require_emulated_device();
  const auto record =
      record_with({"PTBENCH_EMULATOR_THROTTLE=0x41", "PTBENCH_EMULATOR_TEMPERATURE=88"});
  REQUIRE(record["samples"]["slices"].size() == 1);
  const auto slice = record["samples"]["slices"][0];
  CHECK(slice["clean"] == false);
  CHECK(slice["device_temperature_celsius"] == 88);
  CHECK(slice["device_throttle_reasons"] == nlohmann::json{"gpu_idle", "hw_thermal_slowdown"});
  CHECK(slice["device_joules"].is_null());
  CHECK(slice["frequency_hertz"].is_null());
  const auto warning = warning_of(record, "device-throttled");
  REQUIRE(warning.is_object());
  CHECK_THAT(warning["message"].get<std::string>(), Contains("hw_thermal_slowdown"));
  CHECK_THAT(warning["remedy"].get<std::string>(), Contains("cooling"));
}

TEST_CASE("a slice beside a process that uses the device is not clean", "[cuda]") {
  require_emulated_device();
  const auto record = record_with({"PTBENCH_EMULATOR_FOREIGN=4194000:30"});
  const auto slice = record["samples"]["slices"][0];
  CHECK(slice["clean"] == false);
  CHECK(slice["device_other_processes"] == 1);
  CHECK(slice["device_foreign_fraction"].get<double>() == Approx(0.3));
  CHECK(warning_of(record, "device-shared").is_object());
}

TEST_CASE("a slice in which nothing slowed the device down is clean", "[cuda]") {
  require_emulated_device();
  const auto record =
      record_with({"PTBENCH_EMULATOR_THROTTLE=0x113", "PTBENCH_EMULATOR_FOREIGN=4194000:0"});
  const auto slice = record["samples"]["slices"][0];
  CHECK(slice["clean"] == true);
  CHECK(slice["device_other_processes"] == 1);
  for (const char* code : {"device-throttled", "device-shared", "device-not-watched"})
    CHECK(warning_of(record, code).is_null());
}

TEST_CASE("a run goes on without the management library, and says what is not known", "[cuda]") {
  require_emulated_device();
  const RunCommand run;
  (void)train(run, {}, {PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--no-nvml"});
  const auto record = run.json("r.json")["runs"][0];
  CHECK(record["status"] == "ok");
  CHECK(record["samples"]["slices"].empty());
  const auto warning = warning_of(record, "device-not-watched");
  REQUIRE(warning.is_object());
  CHECK_THAT(warning["message"].get<std::string>(),
             Contains("cuda:0") && Contains("libnvidia-ml.so.1"));
  CHECK_THAT(warning["remedy"].get<std::string>(), Contains("NVIDIA_DRIVER_CAPABILITIES"));
}

TEST_CASE("doctor tells what watches the devices", "[cuda]") {
  require_emulated_device();
  const auto finding = [](const Strings& environment, const Strings& before) {
    Strings command = before;
    command.insert(command.end(), {PTBENCH_EXECUTABLE, "doctor", "--json"});
    const ProgramResult result = run_program(command, {.environment = environment});
    CHECK(result.exit_code == 0);
    return result.output;
  };
  const std::string throttled = finding({"PTBENCH_EMULATOR_THROTTLE=4"}, {});
  CHECK_THAT(throttled,
             Contains("driver 580.00; cuda:0: 1.41 GHz, 40 °C, throttled (sw_power_cap)"));
  const std::string failed = finding({"PTBENCH_EMULATOR_NVML=failed"}, {});
  CHECK_THAT(failed, Contains("nvmlInit_v2: Driver Not Loaded"));
  const std::string absent = finding({}, {PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--no-nvml"});
  CHECK_THAT(absent, Contains("libnvidia-ml.so.1: cannot open") && Contains("utility"));
}

}  // namespace ptbench::testing
