// Several ranks: what the emulated NCCL computes, and faults between ranks, streams and devices
// that it must find, each beside the same program without it.
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.h"

#ifdef PTBENCH_EMULATOR_RANKS

namespace ptbench::testing {
namespace {

using Catch::Contains;
using RankWords = std::vector<std::string>;

constexpr int kRankFaultFound = 86;

ProgramResult emulate_ranks(const RankWords& options, const RankWords& arguments) {
  RankWords command{PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--module", PTBENCH_EMULATOR_RANKS,
                    "--devices", "4"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(PTBENCH_EMULATOR_RANKS);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command);
}

/// A fault, and what its report says whatever the order in which streams work.
struct RankFault {
  const char* name;
  const char* said;
};

void check_rank_fault(const RankFault& fault) {
  for (const std::string order : {"ascending", "descending"}) {
    INFO(fault.name << ", " << order);
    const ProgramResult faulty =
        emulate_ranks({"--checks", "--streams", order}, {fault.name, "faulty"});
    INFO(faulty.output);
    CHECK(faulty.exit_code == kRankFaultFound);
    CHECK_THAT(faulty.errors, Contains("cuda emulator: ") && Contains(fault.said));
  }
}

/// What the case "as-environment-says" prints: version and result.
std::string formed_as(const std::string& environment) {
  const ProgramResult result =
      run_program({PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--module", PTBENCH_EMULATOR_RANKS,
                   PTBENCH_EMULATOR_RANKS, "as-environment-says"},
                  {.environment = {"PTBENCH_EMULATOR_NCCL=" + environment}});
  return result.exit_code == 0 ? result.output : result.errors;
}

}  // namespace

TEST_CASE("ranks without faults pass every check, in both orders of streams") {
  const ProgramResult names = emulate_ranks({}, {});
  REQUIRE(names.exit_code == 0);
  std::istringstream lines(names.output);
  int cases = 0;
  for (std::string name; std::getline(lines, name); ++cases)
    for (const std::string order : {"ascending", "descending"}) {
      INFO(name << ", " << order);
      const ProgramResult result = emulate_ranks({"--checks", "--streams", order}, {name});
      INFO(result.output << result.errors);
      CHECK(result.exit_code == 0);
    }
  CHECK(cases >= 30);
}

TEST_CASE("collectives that nothing orders with kernels are found in both orders of streams") {
  check_rank_fault({"unordered-producer", "no event or other order between"});
  check_rank_fault({"unordered-consumer", "no event or other order between"});
}

TEST_CASE("calls of ranks that do not belong together are found") {
  for (const RankFault& fault :
       {RankFault{"other-count", "ncclAllReduce of 63 float32 with ncclSum"},
        RankFault{"other-type", "ncclAllReduce of 64 int32 with ncclSum"},
        RankFault{"other-operator", "ncclAllReduce of 64 float32 with ncclMax"},
        RankFault{"other-call", "ncclReduce of 64 float32 with ncclSum, root 0"},
        RankFault{"other-root", "ncclReduce of 64 float32 with ncclSum, root 1"},
        RankFault{"other-order", "ncclAllReduce of 32 float32 with ncclSum"},
        RankFault{"other-message", "rank 1 receives 32 float32, and rank 0 sends 64 float32"}})
    check_rank_fault(fault);
}

TEST_CASE("memory that a collective must not touch is found") {
  check_rank_fault({"short-buffer",
                    "out of bounds: ncclAllReduce: writes 256 bytes from byte 0 of device "
                    "allocation 2 (252 bytes"});
  check_rank_fault({"unwritten", "uninitialised: ncclAllReduce"});
  check_rank_fault({"overlap", "overlap: ncclAllReduce"});
}

TEST_CASE("communicators that are left, or used when they are gone, are found") {
  check_rank_fault({"left-communicator", "communicators: 1"});
  check_rank_fault({"left-registration", "destroyed with 1 buffers registered"});
  check_rank_fault({"use-after-destroy", "use after destroy: ncclAllReduce"});
  check_rank_fault({"captured", "use after destroy: ncclAllReduce of a graph"});
}

TEST_CASE("devices of one process that nothing orders are found") {
  check_rank_fault({"peer-copy-order", "no event or other order between"});
  check_rank_fault({"waits-for-own-device", "no event or other order between"});
}

TEST_CASE("NCCL's own refusals are returned") {
  for (const char* name :
       {"forming-in-capture", "non-blocking", "duplicate", "buffer-of-other-device"}) {
    INFO(name);
    const ProgramResult faulty = emulate_ranks({}, {name, "faulty"});
    INFO(faulty.output << faulty.errors);
    CHECK(faulty.exit_code == 0);  // the case has seen the error that it should
  }
}

TEST_CASE("the environment chooses the version of NCCL, and has it fail") {
  CHECK(formed_as("21005") == "21005 0\n");
  CHECK(formed_as("no-id") == "22809 2\n");
  CHECK(formed_as("failed") == "22809 2\n");
  CHECK(formed_as("hangs") == "22809 7\n");
  CHECK_THAT(formed_as("broken"), Contains("use a version, as 22809, or no-id, failed or hangs"));
}

}  // namespace ptbench::testing

#endif
