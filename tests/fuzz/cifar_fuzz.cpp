#include <cstddef>
#include <cstdint>

#include "src/data/cifar.h"
#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ptbench::fuzz::MemoryFile file;
  file.set({data, size});
  ptbench::PixelPart part;
  ptbench::fuzz::expect_usage_error_at_most([&] { ptbench::read_cifar(file.path(), part); });
  return 0;
}
