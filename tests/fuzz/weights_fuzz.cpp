#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "tests/fuzz/hostile_input.h"
#include "workloads/weights_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream stream(std::string(data, data + size));
  ptbench::fuzz::expect_usage_error_at_most(
      [&] { (void)ptbench::read_weights(stream, size, "weights.safetensors"); });
  return 0;
}
