// What a run says where driver, device or memory fail it: one clear error, and no other.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cuda/device.h"
#include "tests/cuda/run_record.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using Catch::StartsWith;

struct Outcome {
  ProgramResult result;
  nlohmann::json record;  ///< null where there is none

  /// Why the run failed, and what to do about it: it is said once, in the report.
  [[nodiscard]] std::string reason() const {
    CHECK(result.exit_code == 2);
    CHECK(result.errors.empty());
    CHECK_THAT(result.output, Contains("  failed  "));
    REQUIRE(record.is_object());
    CHECK(record["status"] == "failed");
    return record["reason"];
  }
};

/// A few steps of mlp where the environment also has these variables.
Outcome run_with(Words environment, const Words& more = {}) {
  const RunCommand run;
  Words words{PTBENCH_EXECUTABLE, "run", "-w", "mlp",    "-b",       "4", "--device", "cuda",
              "--verify",         "off", "-o", "r.json", "--warmup", "1", "--steps",  "3"};
  words.insert(words.end(), more.begin(), more.end());
  environment.push_back("XDG_CACHE_HOME=" + run.path("cache").string());
  Outcome outcome{run_program(words, {.folder = run.path("."), .environment = environment}), {}};
  if (std::filesystem::exists(run.path("r.json"))) outcome.record = run.json("r.json")["runs"][0];
  CAPTURE(outcome.result.output);
  return outcome;
}

}  // namespace

TEST_CASE("a device that breaks in the middle of a step ends the run with one error", "[cuda]") {
  require_emulated_device();
  CHECK_THAT(
      run_with({"PTBENCH_EMULATOR_BREAK=sgd_kernel:3"}).reason(),
      Contains("an illegal memory access was encountered") && Contains("CUDA_LAUNCH_BLOCKING=1"));
}

TEST_CASE("where launches block, the operator that broke the device is named", "[cuda]") {
  require_emulated_device();
  const auto reason_of = [](const std::string& kernel) {
    return run_with({"PTBENCH_EMULATOR_BREAK=" + kernel, "CUDA_LAUNCH_BLOCKING=1"},
                    {"--graph", "off"})
        .reason();
  };
  CHECK_THAT(reason_of("rows_kernel:2"), StartsWith("forward of 'loss': "));
  CHECK_THAT(reason_of("bias_gradient_kernel:2"), StartsWith("backward of 'fc"));
}

TEST_CASE("a call that fails in a step ends the run, and is named", "[cuda]") {
  require_emulated_device();
  // The first step is captured and instantiated; the third makes the second launch.
  for (const std::string failing : {"cudaStreamBeginCapture:1", "cudaGraphInstantiate:1",
                                    "cudaGraphLaunch:2", "cudaStreamWaitEvent:3"}) {
    CAPTURE(failing);
    const std::string call = failing.substr(0, failing.find(':'));
    CHECK_THAT(run_with({"PTBENCH_EMULATOR_FAIL=" + failing}, {"--graph", "on"}).reason(),
               StartsWith(call + "(") && Contains("unknown error") && Contains("run again"));
  }
}

TEST_CASE("memory that other programs took is a run that failed", "[cuda]") {
  require_emulated_device();
  CHECK_THAT(run_with({"PTBENCH_EMULATOR_TAKEN=8587837440"}).reason(),
             StartsWith("cuda:0: no memory for") && Contains("--batch-size"));
}

TEST_CASE("a driver that is too old is told from none", "[cuda]") {
  require_emulated_device();
  const ProgramResult result = run_with({"PTBENCH_EMULATOR_DRIVER=12040"}).result;
  CHECK(result.exit_code == 5);
  CHECK_THAT(result.errors, Contains("the driver is for CUDA 12.4") && Contains("newer driver"));
}

TEST_CASE("a run on the CPU opens nothing of CUDA", "[cuda]") {
  require_cuda_device();
  for (const Words& words :
       {Words{"--version"}, Words{"list", "workloads"},
        Words{"run", "-w", "linear", "--device", "cpu", "--steps", "2", "--verify", "off"}}) {
    CAPTURE(words);
    Words command{PTBENCH_EXECUTABLE};
    command.insert(command.end(), words.begin(), words.end());
    const ProgramResult result = run_program(command, {.environment = {"LD_DEBUG=files"}});
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.errors, Contains("libc.so.6") && !Contains("libcudart") &&
                                  !Contains("libptbench_cuda") && !Contains("libnvidia-ml"));
  }
}

}  // namespace ptbench::testing
