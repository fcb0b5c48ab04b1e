#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "reports/json.h"
#include "reports/read_result.h"
#include "tests/fuzz/hostile_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  std::optional<ptbench::ResultFile> file;
  ptbench::fuzz::expect_usage_error_at_most(
      [&] { file = ptbench::read_result(text, "result.json"); });
  if (!file) return 0;
  // What was accepted can be written and read again, and is the same then; an error here is not
  // caught.
  const std::string written = ptbench::to_json(*file);
  if (ptbench::to_json(ptbench::read_result(written, "again.json")) != written) std::abort();
  return 0;
}
