#include "tests/measure/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// NOLINTNEXTLINE(*-avoid-non-const-global-variables): operator new has no other place to count.
constinit std::atomic<std::size_t> calls{0};

}  // namespace

namespace ptbench::testing {

std::size_t allocation_count() { return calls.load(); }

}  // namespace ptbench::testing

// Replaces the library's for the whole program; its array and nothrow forms call this one.
void* operator new(std::size_t bytes) {
  ++calls;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
