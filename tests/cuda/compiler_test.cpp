// NVIDIA's runtime compiler: the module opens it for cuDNN, and what needs it is refused where it
// is missing.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cuda/device.h"
#include "tests/cuda/models.h"
#include "tests/cuda/run_record.h"
#include "tests/run/command.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

/// Runs what follows as where the compiler is not installed.
Words without_compiler() { return {PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--no-nvrtc"}; }

/// Steps of convolutions in a precision, where the environment also has these variables. `before`
/// comes before the program.
ProgramResult convolve(const std::string& precision, const Words& before, Words environment = {}) {
  const RunCommand run;
  run.write("m.json", model_of_images("gelu"));
  environment.push_back("XDG_CACHE_HOME=" + run.path("cache").string());
  return run_program(before + Words{PTBENCH_EXECUTABLE, "run", "-w", "m.json", "--device", "cuda",
                                    "--precision", precision, "--steps", "2"},
                     {.folder = run.path("."), .environment = environment});
}

/// What doctor finds of the compiler.
nlohmann::json finding_of(const Words& before, const Words& environment = {}) {
  const ProgramResult result = run_program(before + Words{PTBENCH_EXECUTABLE, "doctor", "--json"},
                                           {.environment = environment});
  REQUIRE(result.exit_code == 0);
  const auto groups = nlohmann::json::parse(result.output);
  for (const auto& finding : groups["libraries"])
    if (finding["name"] == "nvrtc") return finding;
  return nullptr;
}

}  // namespace

TEST_CASE("the module has the compiler open, and what the compiler opens itself", "[cuda]") {
  require_cuda_device();
  const Site site = open_cuda_site();
  const CudaCompiler compiler = find_cuda_compiler(PTBENCH_BUILT_MODULES);
  if (compiler.state == "absent") skip(compiler.detail);
  CHECK(compiler.state == "ready");
  const std::string own = "libnvrtc-builtins.so." + compiler.version;
  CHECK(dlopen(own.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr);
}

TEST_CASE("convolutions that cuDNN compiles are refused where its compiler is missing", "[cuda]") {
  require_emulated_device();
  for (const std::string precision : {"bf16", "fp16"}) {
    const ProgramResult result = convolve(precision, without_compiler());
    CHECK(result.exit_code == 5);
    CHECK_THAT(result.errors, Contains("cuDNN has no deterministic algorithm for 'conv2d") &&
                                  Contains("with libnvrtc.so.13, which cannot be used") &&
                                  Contains("LD_LIBRARY_PATH"));
  }
  CHECK(convolve("fp32", without_compiler()).exit_code == 0);
}

TEST_CASE("where cuDNN compiles nothing with its compiler, that is not blamed", "[cuda]") {
  require_emulated_device();
  const ProgramResult result = convolve("bf16", {}, {"PTBENCH_EMULATOR_CUDNN=precompiled"});
  CHECK(result.exit_code == 5);
  CHECK_THAT(result.errors,
             Contains("cuDNN has no deterministic algorithm for 'conv2d") && !Contains("nvrtc"));
}

TEST_CASE("doctor tells whether the compiler can be used, and what brings it", "[cuda]") {
  require_emulated_device();
  const auto ready = finding_of({});
  CHECK(ready["state"] == "ready");
  CHECK(ready["value"] == "13.0");
  const auto absent = finding_of(without_compiler());
  CHECK(absent["state"] == "absent");
  CHECK(absent["value"].is_null());
  CHECK_THAT(absent["detail"].get<std::string>(), Contains("libnvrtc.so.13: cannot open"));
  CHECK_THAT(absent["remedy"].get<std::string>(), Contains("cuda-nvrtc-13-"));
  const auto incomplete = finding_of(
      {}, {"LD_AUDIT=" PTBENCH_EMPTY_LIBRARY, "PTBENCH_EMULATOR_ABSENT=libnvrtc-builtins.so.13.0"});
  CHECK(incomplete["state"] == "failed");
  CHECK(incomplete["value"] == "13.0");
  CHECK_THAT(incomplete["detail"].get<std::string>(), Contains("libnvrtc-builtins.so.13.0"));
}

}  // namespace ptbench::testing
