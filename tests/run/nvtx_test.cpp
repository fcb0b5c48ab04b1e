// What a profiler sees of a run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "src/measure/step_phases.h"
#include "tests/support/nvtx_events.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"

namespace ptbench::testing {
namespace {

/// Of a run of 3 steps after one, verification left out, with everything that it starts.
std::vector<NvtxEvent> events_of_run() {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "events";
  const ProgramResult result =
      run_program({PTBENCH_EXECUTABLE, "run", "-w", "linear", "--steps", "3", "--warmup", "1",
                   "--threads", "1", "--verify", "off", "-o", "r.json"},
                  {.folder = folder.path(),
                   .environment = {"XDG_CACHE_HOME=" + (folder.path() / "cache").string(),
                                   "NVTX_INJECTION64_PATH=" + nvtx_recorder().string(),
                                   "PTBENCH_TEST_NVTX_FILE=" + file.string()}});
  CAPTURE(result.errors, result.output);
  REQUIRE(result.exit_code == 0);
  return read_nvtx_events(file);
}

/// The numbers of each process's steps, in their order.
std::map<int, std::vector<std::uint64_t>> steps_in(const std::vector<NvtxRange>& ranges) {
  std::map<int, std::vector<std::uint64_t>> steps;
  for (const NvtxRange& range : ranges)
    if (range.path == "step") steps[range.process].push_back(range.payload);
  return steps;
}

/// A strategy counts its steps from 1; a process may train several, one after the other.
bool counts_from_one(const std::vector<std::uint64_t>& steps) {
  std::uint64_t before = 0;
  return std::ranges::all_of(steps, [&before](std::uint64_t step) {
    const bool follows = step == 1 || (before > 0 && step == before + 1);
    before = step;
    return follows;
  });
}

TEST_CASE("a run shows its steps and their phases to a profiler", "[run]") {
  if (!has_nvtx()) skip("this build has no NVTX ranges");
  const std::vector<NvtxEvent> events = events_of_run();
  for (const NvtxEvent& event : events) REQUIRE(event.domain == "ptbench");
  const std::vector<NvtxRange> ranges = nested_ranges(events);
  std::set<std::string> paths;
  for (const NvtxRange& range : ranges) paths.insert(range.path);
  CHECK(paths == std::set<std::string>{"step", "step/data", "step/forward", "step/backward",
                                       "step/backward/optimizer"});
  const auto steps = steps_in(ranges);
  REQUIRE_FALSE(steps.empty());
  for (const auto& [process, numbers] : steps) {
    CAPTURE(process);
    CHECK(numbers.size() >= 4);
    CHECK(counts_from_one(numbers));
  }
}

}  // namespace
}  // namespace ptbench::testing
