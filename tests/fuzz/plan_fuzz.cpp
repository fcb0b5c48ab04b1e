#include <cstddef>
#include <cstdint>

#include "app/training/plan_store.h"
#include "tests/fuzz/hostile_input.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ptbench::fuzz::MemoryFile file;
  file.set({data, size});
  ptbench::fuzz::expect_usage_error_at_most(
      [&] { (void)ptbench::PlanStore::of_file(file.path(), "fuzz").load(); });
  return 0;
}
