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

// Replace the library's for the whole program: all forms but the aligned ones, since a sanitizer
// wants to see memory go the way that it came.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++calls;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = ::operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return ::operator new(bytes, std::nothrow);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
