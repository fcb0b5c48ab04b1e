#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/fuzz/hostile_input.h"
#include "workloads/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  std::optional<ptbench::Workload> workload;
  ptbench::fuzz::expect_usage_error_at_most(
      [&] { workload = ptbench::parse_model(text, "model.json"); });
  // What was accepted can be written and read again; an error here is not caught.
  if (workload) (void)ptbench::parse_model(ptbench::model_json(*workload), "again.json");
  return 0;
}
