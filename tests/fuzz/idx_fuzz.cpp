#include <cstddef>
#include <cstdint>

#include "src/data/idx.h"
#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ptbench::fuzz::MemoryFile file;
  file.set({data, size});
  for (const std::size_t rank : {std::size_t{1}, std::size_t{3}})
    ptbench::fuzz::expect_usage_error_at_most([&] { (void)ptbench::read_idx(file.path(), rank); });
  return 0;
}
