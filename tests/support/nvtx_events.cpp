#include "tests/support/nvtx_events.h"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace ptbench::testing {

std::filesystem::path nvtx_recorder() { return PTBENCH_TEST_MODULES "/nvtx/libnvtx_recorder.so"; }

std::vector<NvtxEvent> read_nvtx_events(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<NvtxEvent> events;
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    NvtxEvent event;
    words >> event.process >> event.thread >> event.kind >> event.domain >> event.name >>
        event.payload >> event.range;
    if (!words) throw std::runtime_error("no NVTX event: " + line);
    events.push_back(std::move(event));
  }
  return events;
}

std::vector<NvtxRange> nested_ranges(const std::vector<NvtxEvent>& events) {
  std::map<std::pair<int, int>, std::vector<std::string>> open;  // paths, by process and thread
  std::vector<NvtxRange> ranges;
  for (const NvtxEvent& event : events) {
    std::vector<std::string>& stack = open[{event.process, event.thread}];
    if (event.kind == "push") {
      stack.push_back(stack.empty() ? event.name : stack.back() + "/" + event.name);
      ranges.push_back({event.process, event.thread, stack.back(), event.payload});
    } else if (event.kind == "pop") {
      if (stack.empty()) throw std::runtime_error("a pop without its push");
      stack.pop_back();
    }
  }
  for (const auto& [thread, stack] : open)
    if (!stack.empty()) throw std::runtime_error("never popped: " + stack.back());
  return ranges;
}

std::string text_of(const std::vector<NvtxRange>& ranges) {
  std::string text;
  for (const NvtxRange& range : ranges)
    text += (text.empty() ? "" : " ") + range.path + "=" + std::to_string(range.payload);
  return text;
}

}  // namespace ptbench::testing
