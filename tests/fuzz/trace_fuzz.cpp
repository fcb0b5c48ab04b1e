#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/trace_merge.h"
#include "tests/fuzz/hostile_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  std::vector<ptbench::RankTrace> traces;
  std::optional<std::string> merged;
  ptbench::fuzz::expect_usage_error_at_most([&] {
    traces.push_back(ptbench::read_trace(text, "rank0.json"));
    traces.push_back(traces.front());
    traces.back().rank = 1;
    traces.back().clock += " of another machine";
    merged = ptbench::merge_traces(traces, ptbench::compare_clocks(traces));
  });
  // What is merged is JSON; an error here is not caught.
  if (merged && !nlohmann::json::parse(*merged).contains("traceEvents")) std::abort();
  return 0;
}
