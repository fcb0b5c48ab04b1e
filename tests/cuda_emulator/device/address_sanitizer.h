#pragma once

#include <cstddef>

// What libasan offers, where it was loaded before everything else (LD_PRELOAD).

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* at, std::size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* at,
                                                         std::size_t bytes);
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** save, const void* bottom,
                                                          std::size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* save, const void** bottom,
                                                           std::size_t* bytes);
}
// NOLINTEND(readability-identifier-naming)

namespace ptbench::emulator {

inline bool has_address_sanitizer() { return &__asan_poison_memory_region != nullptr; }

}  // namespace ptbench::emulator
