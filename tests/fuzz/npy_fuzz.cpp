#include <cstddef>
#include <cstdint>

#include "src/data/npy_file.h"
#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ptbench::fuzz::MemoryFile file;
  file.set({data, size});
  using ptbench::fuzz::expect_usage_error_at_most;
  expect_usage_error_at_most([&] { (void)ptbench::read_npy_samples(file.path()); });
  expect_usage_error_at_most([&] { (void)ptbench::read_npy_labels(file.path()); });
  return 0;
}
