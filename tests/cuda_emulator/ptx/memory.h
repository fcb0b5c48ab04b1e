#pragma once

#include "tests/cuda_emulator/ptx/floating.h"
#include "tests/cuda_emulator/ptx/kernel.h"

// Loads, stores, atomics and fences. Addresses are the host's, but for those in shared memory,
// which are offsets. PTBENCH_EMULATOR_CHECKS has every access told to the device.

namespace ptbench::emulator {

#ifdef PTBENCH_EMULATOR_CHECKS
inline constexpr bool kChecks = true;
#else
inline constexpr bool kChecks = false;
#endif

/// The thread and, by the compiler's line, the place of an instruction.
struct Here {
  Thread* thread;
  const char* file;
  int line;
  explicit(false) Here(Thread* who, const char* in = __builtin_FILE(), int at = __builtin_LINE())
      : thread(who), file(in), line(at) {}
};

/// Whose memory an instruction names.
enum class Space : U8 {
  device,  ///< global, constant, generic, shared
  own,     ///< parameters and local variables: nobody else's
};
/// Whether an instruction may be part of a protocol between threads (.volatile, .relaxed, …).
enum class Order : U8 { weak, strong };

inline U8* address_of(U64 base, S64 offset) {
  return reinterpret_cast<U8*>(base + static_cast<U64>(offset));
}
inline U8* shared_address(const Thread* thread, U64 base, S64 offset) {
  return thread->block->shared + static_cast<U32>(base + static_cast<U64>(offset));
}
inline U64 shared_to_generic(const Thread* thread, U64 offset) {
  return reinterpret_cast<U64>(thread->block->shared) + static_cast<U32>(offset);
}
inline U64 generic_to_shared(const Thread* thread, U64 address) {
  return address - reinterpret_cast<U64>(thread->block->shared);
}

inline void tell(const Here& here, const U8* address, U32 bytes, Access kind) {
  if (reinterpret_cast<U64>(address) % bytes != 0)
    ptbench_emulator_access(here.thread, address, bytes, Access::misaligned, here.file, here.line);
  if constexpr (kChecks)
    ptbench_emulator_access(here.thread, address, bytes, kind, here.file, here.line);
}

template <class T, int Count, Space Where, Order How, class... Registers>
void load(Here here, const U8* address, Registers&... registers) {
  static_assert(sizeof...(Registers) == Count);
  if constexpr (How == Order::strong) ptbench_emulator_yield(here.thread);
  if constexpr (Where == Space::device)
    tell(here, address, sizeof(T) * Count,
         How == Order::strong ? Access::strong_read : Access::read);
  const T* from = reinterpret_cast<const T*>(address);
  (set(registers, *from++), ...);
}
template <class T, int Count, Space Where, Order How, class... Values>
void store(Here here, U8* address, Values... values) {
  static_assert(sizeof...(Values) == Count);
  if constexpr (Where == Space::device) {
    tell(here, address, sizeof(T) * Count,
         How == Order::strong ? Access::strong_write : Access::write);
    here.thread->fenced = false;
  }
  T* to = reinterpret_cast<T*>(address);
  ((*to++ = values), ...);
}

/// Reads, changes and writes at once; the value before.
template <class T, class Change>
T update(const Here& here, U8* address, Change change) {
  tell(here, address, sizeof(T), Access::update);
  T& cell = *reinterpret_cast<T*>(address);
  const T before = cell;
  cell = change(before);
  return before;
}
template <class T>
T atom_add(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T before) { return ptx_add(before, value); });
}
template <class T>
T atom_min(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T before) { return ptx_min(before, value); });
}
template <class T>
T atom_max(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T before) { return ptx_max(before, value); });
}
template <class T>
T atom_and(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T before) { return ptx_and(before, value); });
}
template <class T>
T atom_or(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T before) { return ptx_or(before, value); });
}
template <class T>
T atom_xor(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T before) { return ptx_xor(before, value); });
}
template <class T>
T atom_exch(Here here, U8* address, T value) {
  return update<T>(here, address, [=](T) { return value; });
}
template <class T>
T atom_cas(Here here, U8* address, T expected, T value) {
  return update<T>(here, address, [=](T before) { return before == expected ? value : before; });
}
/// Counts up to `last`, then begins at 0.
template <class T>
T atom_inc(Here here, U8* address, T last) {
  return update<T>(here, address,
                   [=](T before) { return before >= last ? T{0} : static_cast<T>(before + 1); });
}
/// Counts down to 0, then begins at `last`.
template <class T>
T atom_dec(Here here, U8* address, T last) {
  return update<T>(here, address, [=](T before) {
    return before == 0 || before > last ? last : static_cast<T>(before - 1);
  });
}

/// fence, membar: the device's memory is always in order; what a fence is for is remembered.
inline void fence(Thread* thread) { thread->fenced = true; }

}  // namespace ptbench::emulator
