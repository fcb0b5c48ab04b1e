// What scripts/emulate-gpu says and refuses.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

ProgramResult emulate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PTBENCH_SOURCE_DIR "/scripts/emulate-gpu");
  return run_program(arguments);
}

void check_refused(const std::vector<std::string>& arguments, const std::string& why) {
  const ProgramResult result = emulate(arguments);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Catch::StartsWith("emulate-gpu: ") && Contains(why));
}

}  // namespace

TEST_CASE("emulate-gpu tells how it is used") {
  const ProgramResult help = emulate({"--help"});
  CHECK(help.exit_code == 0);
  for (const char* option : {"--devices", "--checks", "--count", "--asan", "--threads", "--streams",
                             "--no-nvml", "--no-nccl", "--no-nvrtc"})
    CHECK_THAT(help.output, Contains(option));
}

TEST_CASE("emulate-gpu refuses what it cannot do") {
  check_refused({}, "which command?");
  check_refused({"--fast", "true"}, "unknown option '--fast'");
  check_refused({"--devices"}, "--devices needs a value");
  check_refused({"--devices", "none", "true"}, "give a number from 1 to 16");
  check_refused({"--threads", "any", "true"}, "use ascending, descending or random");
  check_refused({"--module", "/nowhere.so", "true"}, "there is no CUDA module /nowhere.so");
}

TEST_CASE("a module that cannot be translated is refused with the reason") {
  const TemporaryDirectory folder;
  const std::string module =
      folder.write("module.ptx",
                   ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n"
                   "  wgmma.fence.sync.aligned;\n  ret;\n}\n");
  // The first module says in which build the emulated device is.
  const ProgramResult result =
      emulate({"--module", PTBENCH_EMULATOR_CASES, "--module", module, "--prepare"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("unknown instruction 'wgmma.fence.sync.aligned'"));
}

TEST_CASE("without NCCL, a program that needs it does not begin") {
#ifdef PTBENCH_EMULATOR_RANKS
  const ProgramResult result =
      emulate({"--no-nccl", "--module", PTBENCH_EMULATOR_RANKS, PTBENCH_EMULATOR_RANKS, "rooted"});
  CHECK(result.exit_code == 127);
  CHECK_THAT(result.errors, Contains("libnccl.so.2: cannot open shared object file"));
#endif
}

TEST_CASE("the command's own status is passed on") {
  CHECK(emulate({"--module", PTBENCH_EMULATOR_CASES, "sh", "-c", "exit 7"}).exit_code == 7);
}

TEST_CASE("ptbench finds the emulated devices through its own module") {
  const ProgramResult doctor = emulate({"--devices", "2", PTBENCH_EXECUTABLE, "doctor"});
  INFO(doctor.errors);
  CHECK_THAT(doctor.output, Contains("emulated: emulated sm_80, 8.00 GiB"));
  CHECK_THAT(doctor.output, Contains("cuda:1"));
}

TEST_CASE("doctor tries what an emulated device computes and copies, and tells no speed") {
  const ProgramResult doctor =
      emulate({"--devices", "2", "--checks", PTBENCH_EXECUTABLE, "doctor", "--json"});
  INFO(doctor.errors);
  REQUIRE(doctor.exit_code == 0);
  const auto groups = nlohmann::json::parse(doctor.output);
  std::map<std::string, nlohmann::json> findings;
  for (const auto& finding : groups["cuda:1"]) findings[finding["name"]] = finding;
  CHECK(findings["pci_bus_id"]["value"] == "EEEE:02:00.0");
  CHECK(findings["peers"]["value"] == "cuda:0");
  for (const char* name :
       {"fp32_product_flops_per_second", "tf32_product_flops_per_second",
        "bf16_product_flops_per_second", "fp16_product_flops_per_second", "copy_bytes_per_second",
        "copy_from_host_bytes_per_second", "copy_to_host_bytes_per_second"}) {
    CAPTURE(name);
    CHECK(findings[name]["state"] == "emulated");
    CHECK(findings[name]["value"].is_null());
  }
}

}  // namespace ptbench::testing
