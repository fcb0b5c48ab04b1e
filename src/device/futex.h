#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>

namespace ptbench {

/// A 32-bit word that threads, or processes that share its mapping, can sleep on. The raw system
/// call: `std::atomic::wait` has no deadline and never wakes another process.
using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

/// Sleeps while `word` holds `expected`, at most `timeout`. May return early: check again.
inline void futex_wait(const FutexWord& word, std::uint32_t expected,
                       std::chrono::nanoseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  timespec limit{};
  limit.tv_sec = seconds.count();
  limit.tv_nsec = (timeout - seconds).count();
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

/// Wakes everyone who sleeps on `word`.
inline void futex_wake_all(const FutexWord& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

/// Tells the core that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace ptbench
