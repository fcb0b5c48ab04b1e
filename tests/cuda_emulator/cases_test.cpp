// Faults that the emulated device must find, each beside the same program without it.
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
using Words = std::vector<std::string>;

constexpr int kFaultFound = 86;

ProgramResult emulate(const Words& options, const std::string& program, const Words& arguments) {
  Words command{PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--module", program};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(program);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command);
}

ProgramResult run_case(const std::string& name, bool faulty, const Words& options = {}) {
  return emulate(options, PTBENCH_EMULATOR_CASES,
                 {name, faulty ? std::string("faulty") : std::string("healthy")});
}

/// A fault and what its report must say.
struct Fault {
  const char* name;
  Words options;  ///< with which it is found
  Words said;
};

void check_fault(const Fault& fault) {
  INFO(fault.name);
  const ProgramResult healthy = run_case(fault.name, false, fault.options);
  INFO(healthy.output << healthy.errors);
  CHECK(healthy.exit_code == 0);
  CHECK(healthy.errors.empty());
  const ProgramResult faulty = run_case(fault.name, true, fault.options);
  CHECK(faulty.exit_code == kFaultFound);
  for (const std::string& word : fault.said) CHECK_THAT(faulty.errors, Contains(word));
}

/// Every case without its fault.
void check_healthy(const Words& options) {
  const ProgramResult names = emulate({}, PTBENCH_EMULATOR_CASES, {});
  REQUIRE(names.exit_code == 0);
  std::istringstream lines(names.output);
  int cases = 0;
  for (std::string name; std::getline(lines, name); ++cases) {
    INFO(name);
    const ProgramResult result = run_case(name, false, options);
    INFO(result.output << result.errors);
    CHECK(result.exit_code == 0);
  }
  CHECK(cases >= 40);
}

}  // namespace

TEST_CASE("accesses outside of memory are found") {
  check_fault({"out-of-bounds",
               {"--checks"},
               {"out of bounds: memory_cases.cu:", "kernel doubled", "thread (100, 0, 0)",
                "reads 4 bytes at 0 bytes behind device allocation 1 (400 bytes"}});
  check_fault({"dynamic-shared",
               {"--checks"},
               {"out of bounds: block_cases.cu:", "kernel dynamic", "shared memory",
                "outside of every variable"}});
  check_fault({"variables", {"--checks"}, {"out of bounds", "kernel look_up", "thread (2, 0, 0)"}});
  check_fault({"host-memory", {"--checks"}, {"out of bounds", "which is no memory of the device"}});
  check_fault({"misaligned", {}, {"misaligned: memory_cases.cu:", "kernel pairs", "8 bytes"}});
}

TEST_CASE("launches and the memory that they touch are counted") {
  const ProgramResult counted = run_case("uninitialised", false, {"--count"});
  INFO(counted.errors);
  CHECK(counted.exit_code == 0);
  CHECK_THAT(counted.errors, Contains("count: 1 × kernel doubled") &&
                                 Contains(": 256 bytes read, 256 bytes written"));
}

TEST_CASE("AddressSanitizer finds accesses outside of memory") {
  check_fault(
      {"out-of-bounds", {"--asan"}, {"AddressSanitizer: use-after-poison", "memory_cases.cu:"}});
}

TEST_CASE("memory that nobody has written is found") {
  check_fault({"uninitialised",
               {"--checks"},
               {"uninitialised: memory_cases.cu:", "byte 0 of device allocation 1",
                "nobody has written it"}});
}

TEST_CASE("memory that was freed is found") {
  for (const Words& options : {Words{}, Words{"--checks"}})
    check_fault({"use-after-free",
                 options,
                 {"out of bounds", "kernel doubled", "freed device allocation 1"}});
}

TEST_CASE("the host cannot touch device memory") {
  check_fault({"host-access", {}, {"host access: the host touches byte 0 of device allocation 1"}});
}

TEST_CASE("memory that is never freed is found") {
  check_fault({"leak", {}, {"leak:", "1000 bytes of device 0"}});
}

TEST_CASE("page-locked memory that is changed too early is found") {
  check_fault({"page-locked-reuse",
               {},
               {"page-locked reuse:", "page-locked allocation 1 (1024 bytes)",
                "cudaMemcpyAsync on stream 1"}});
}

TEST_CASE("races between warps, lanes and blocks are found in any order of threads") {
  for (const std::string order : {"ascending", "descending", "random"}) {
    const Words options{"--checks", "--threads", order};
    check_fault(
        {"missing-barrier", options, {"block_cases.cu:", "kernel reversed", "shared memory"}});
    check_fault({"overwritten-too-early",
                 options,
                 {"race: block_cases.cu:", "kernel rotated", "no __sync"}});
    check_fault({"lane-race", options, {"block_cases.cu:", "kernel handed_on"}});
    check_fault({"block-race",
                 options,
                 {"race: block_cases.cu:", "kernel numbered", "another block of the same launch"}});
    check_fault(
        {"last-block",
         options,
         {"race: block_cases.cu:", "kernel sum_of_blocks", "another block of the same launch"}});
  }
}

TEST_CASE("masks that name lanes which do not come are found") {
  check_fault({"shuffle-mask", {}, {"warp collective:", "kernel neighbours", "has ended"}});
  check_fault({"own-mask", {}, {"warp collective:", "kernel meet", "not in its own mask 0x1"}});
}

TEST_CASE("threads that wait for ever are found") {
  check_fault({"hang", {}, {"hang: kernel waiting", "at a barrier of the block"}});
}

TEST_CASE("kernels that stop themselves are found") {
  check_fault({"trap", {}, {"trap: thread_cases.cu:", "kernel oddities", "thread (7, 0, 0)"}});
  check_fault({"assertion", {}, {"assertion: thread_cases.cu:", "kernel oddities", "thread != 7"}});
}

TEST_CASE("streams that nothing orders are found in any order of operations") {
  for (const std::string order : {"ascending", "descending", "random"}) {
    const Words options{"--checks", "--streams", order};
    check_fault(
        {"missing-event",
         options,
         {"race: stream_cases.cu:", "kernel increased", "no event or other order between"}});
    check_fault(
        {"copy-race", options, {"race: ", "no event or other order between", "cudaMemcpyAsync"}});
  }
}

TEST_CASE("leading dimensions that are too large are found") {
  check_fault(
      {"leading-dimension",
       {},
       {"out of bounds: cublasLtMatmul: A: reads 20 bytes", "device allocation 1 (80 bytes"}});
}

TEST_CASE("products that do not fit into their memory are found") {
  check_fault(
      {"bf16-extent", {}, {"out of bounds: cublasLtMatmul: D: writes 32 bytes", "(128 bytes"}});
}

TEST_CASE("tensors that are larger than their memory are found") {
  check_fault({"large-description",
               {},
               {"out of bounds: cuDNN convolution: y: writes 256 bytes", "(240 bytes"}});
}

TEST_CASE("images that nobody has written are found") {
  check_fault({"unwritten-image",
               {"--checks"},
               {"uninitialised: cuDNN convolution: x", "nobody has written it"}});
}

TEST_CASE("readers of a convolution that nothing orders are found") {
  for (const std::string order : {"ascending", "descending"})
    check_fault(
        {"read-too-early",
         {"--checks", "--streams", order},
         {"race: ", "kernel increased", "cuDNN convolution", "no event or other order between"}});
}

TEST_CASE("workspace that is too small or was freed is found") {
  check_fault({"small-workspace", {}, {"out of bounds: cuDNN: workspace: writes 4096 bytes"}});
  check_fault(
      {"freed-workspace", {}, {"out of bounds: cuDNN: workspace", "freed device allocation"}});
}

TEST_CASE("workspaces that hold operands or lie at a wrong address are refused") {
  const auto check_refused = [](const std::string& name, const Words& said) {
    INFO(name);
    const ProgramResult faulty = run_case(name, true);
    CHECK(faulty.exit_code == 0);  // the case has seen the error that it should
    for (const std::string& word : said) CHECK_THAT(faulty.errors, Contains(word));
  };
  check_refused(
      "lent-workspace",
      {"cublasLtMatmul: the workspace overlaps A", "cublasLtMatmul: the workspace overlaps B",
       "cublasLtMatmul: the workspace overlaps D",
       "cublasLtMatmul: the workspace does not begin at a multiple of 256 bytes"});
  check_refused("overlapping-workspace", {"CUDNN_STATUS_BAD_PARAM: cudnnBackendExecute: the "
                                          "workspace overlaps tensor 120"});
}

TEST_CASE("what lies in a workspace is lost") {
  CHECK(run_case("workspace-over-scratch", false).exit_code == 0);
  const ProgramResult faulty = run_case("workspace-over-scratch", true);
  CHECK(faulty.exit_code == 1);
  CHECK_THAT(faulty.output, Contains("nan, not 8"));
}

TEST_CASE("streams that share a workspace without an order are found") {
  for (const std::string order : {"ascending", "descending"})
    check_fault({"shared-workspace",
                 {"--checks", "--streams", order},
                 {"race: cublasLtMatmul: workspace", "cublasLtMatmul on stream",
                  "no event or other order between"}});
}

TEST_CASE("devices that use each other's memory without leave are found") {
  check_fault({"peer-access",
               {"--checks", "--devices", "2"},
               {"out of bounds", "from device 1 without cudaDeviceEnablePeerAccess"}});
}

TEST_CASE("calls that fail say why and return CUDA's error") {
  struct Refusal {
    const char* name;
    const char* said;
  };
  for (const Refusal& refusal :
       {Refusal{"call-in-capture",
                "capture: cudaMalloc while stream 1 is captured: "
                "cudaErrorStreamCaptureUnsupported"},
        Refusal{"graph", "cudaErrorStreamCaptureUnjoined"},
        Refusal{"block-size", "a block of 2048 x 1 x 1 threads: cudaErrorInvalidConfiguration"},
        Refusal{"epilogues", "cublasLtMatmul: the ReLU mask needs"},
        Refusal{"narrow", "cublasLtMatmul: the bias has not D's type"},
        Refusal{"convolutions", "CUDNN_STATUS_NOT_SUPPORTED: dilated convolutions"},
        Refusal{"fused-graphs", "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN: "}}) {
    INFO(refusal.name);
    CHECK(run_case(refusal.name, false).exit_code == 0);
    const ProgramResult faulty = run_case(refusal.name, true);
    CHECK(faulty.exit_code == 0);  // the case has seen the error that it should
    CHECK_THAT(faulty.errors, Contains(refusal.said));
  }
}

TEST_CASE("the environment has the N-th call of a function fail") {
  const auto run_graph = [](const std::string& failing) {
    return run_program({PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--module",
                        PTBENCH_EMULATOR_CASES, PTBENCH_EMULATOR_CASES, "graph", "healthy"},
                       {.environment = {"PTBENCH_EMULATOR_FAIL=" + failing}});
  };
  for (const std::string call :
       {"cudaStreamBeginCapture", "cudaGraphInstantiate", "cudaGraphLaunch"}) {
    INFO(call);
    CHECK_THAT(run_graph(call + ":1").output, Contains(call + "(") && Contains("cudaErrorUnknown"));
    CHECK(run_graph(call + ":3").exit_code == 0);  // there are not as many
  }
  const ProgramResult refused = run_graph("cudaGraphLaunch");
  CHECK(refused.exit_code == kFaultFound);
  CHECK_THAT(refused.errors, Contains("use CALL:N"));
}

TEST_CASE("healthy programs pass on two devices") { check_healthy({"--devices", "2"}); }

TEST_CASE("healthy programs pass under AddressSanitizer") {
  check_healthy({"--devices", "2", "--asan"});
}

TEST_CASE("healthy programs pass with every check, in random orders") {
  check_healthy({"--devices", "2", "--checks", "--threads", "random", "--streams", "random"});
}

}  // namespace ptbench::testing
