#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptbench::testing {

/// What the tool of tests/modules/nvtx_recorder.cpp saw. It listens to a process that has, when it
/// first uses NVTX, NVTX_INJECTION64_PATH = nvtx_recorder() and PTBENCH_TEST_NVTX_FILE = a file.
struct NvtxEvent {
  int process = 0;
  int thread = 0;
  std::string kind;    ///< "domain", "string", "push", "pop", "start" or "end"
  std::string domain;  ///< "-" outside of all
  std::string name;    ///< "-" where the kind has none
  std::uint64_t payload = 0;
  std::uint64_t range = 0;  ///< of start and end: which one
};

[[nodiscard]] std::filesystem::path nvtx_recorder();

/// In the order in which they came; none without the file.
[[nodiscard]] std::vector<NvtxEvent> read_nvtx_events(const std::filesystem::path& file);

/// A range of a thread's stack.
struct NvtxRange {
  int process = 0;
  int thread = 0;
  std::string path;  ///< with those around it: "step/backward/optimizer"
  std::uint64_t payload = 0;
};

/// The ranges that were pushed, in that order. Throws std::runtime_error where one was not popped,
/// or another pop than push came.
[[nodiscard]] std::vector<NvtxRange> nested_ranges(const std::vector<NvtxEvent>& events);

/// "step=1 step/data=0 …": paths and payloads.
[[nodiscard]] std::string text_of(const std::vector<NvtxRange>& ranges);

}  // namespace ptbench::testing
