#pragma once

#include "tests/cuda_emulator/ptx/memory.h"

// What threads of a warp or a block do together.

namespace ptbench::emulator {

inline void barrier_sync(Thread* thread, U32 id, U32 count = 0) {
  ptbench_emulator_barrier(thread, id, count, true);
}
inline void barrier_arrive(Thread* thread, U32 id, U32 count) {
  ptbench_emulator_barrier(thread, id, count, false);
}
inline U32 barrier_red_popc(Thread* thread, U32 id, U32 count, bool value) {
  U32 threads = 0;
  return ptbench_emulator_barrier_count(thread, id, count, value, &threads);
}
inline bool barrier_red_and(Thread* thread, U32 id, U32 count, bool value) {
  U32 threads = 0;
  return ptbench_emulator_barrier_count(thread, id, count, value, &threads) == threads;
}
inline bool barrier_red_or(Thread* thread, U32 id, U32 count, bool value) {
  U32 threads = 0;
  return ptbench_emulator_barrier_count(thread, id, count, value, &threads) != 0;
}

inline void warp_sync(Here here, U32 mask) {
  ptbench_emulator_exchange(here.thread, Collective::sync, 0, 0, 0, mask, nullptr, nullptr,
                            here.file, here.line);
}

template <Collective Kind, class Register>
void shfl(Here here, Register& to, bool& in_range, U32 value, U32 choice, U32 clamp, U32 mask) {
  bool flag = false;
  to = static_cast<Register>(ptbench_emulator_exchange(here.thread, Kind, value, choice, clamp,
                                                       mask, &flag, nullptr, here.file, here.line));
  in_range = flag;
}

/// What each lane of a mask brought to a collective.
class Gathered {
 public:
  Gathered(const Here& here, U32 value, U32 mask) {
    ptbench_emulator_exchange(here.thread, Collective::gather, value, 0, 0, mask, nullptr, values_,
                              here.file, here.line);
    // Lanes that the block does not have bring nothing.
    const U32 first = here.thread->warp * 32;
    const U32 lanes = here.thread->block->threads - first;
    mask_ = lanes >= 32 ? mask : mask & ((U32{1} << lanes) - 1);
  }
  /// The lanes for whose value `test` holds.
  template <class Test>
  [[nodiscard]] U32 lanes_where(Test test) const {
    U32 found = 0;
    for (U32 rest = mask_; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<U32>(std::countr_zero(rest));
      if (test(values_[lane])) found |= U32{1} << lane;
    }
    return found;
  }
  [[nodiscard]] U32 mask() const { return mask_; }
  [[nodiscard]] U32 value_of(U32 lane) const { return values_[lane]; }

 private:
  U32 values_[32]{};
  U32 mask_ = 0;
};

inline U32 vote_ballot(Here here, bool value, U32 mask) {
  return Gathered(here, value ? 1 : 0, mask).lanes_where([](U32 seen) { return seen != 0; });
}
inline bool vote_any(Here here, bool value, U32 mask) {
  return vote_ballot(here, value, mask) != 0;
}
inline bool vote_all(Here here, bool value, U32 mask) {
  return vote_ballot(here, !value, mask) == 0;
}
inline bool vote_uni(Here here, bool value, U32 mask) {
  const Gathered lanes(here, value ? 1 : 0, mask);
  const U32 yes = lanes.lanes_where([](U32 seen) { return seen != 0; });
  return yes == 0 || yes == lanes.mask();
}

/// match.any: the lanes that brought the same value.
template <class T>
U32 match_any(Here here, T value, U32 mask) {
  const auto low = static_cast<U32>(value);
  U32 same = Gathered(here, low, mask).lanes_where([=](U32 seen) { return seen == low; });
  if constexpr (sizeof(T) == 8) {
    const auto high = static_cast<U32>(value >> 32U);
    same &= Gathered(here, high, mask).lanes_where([=](U32 seen) { return seen == high; });
  }
  return same;
}
/// match.all: the mask where all brought the same value, else 0.
template <class T>
U32 match_all(Here here, bool& all, T value, U32 mask) {
  const U32 same = match_any(here, value, mask);
  const U32 lanes = Gathered(here, 0, mask).mask();
  all = same == lanes;
  return all ? same : 0;
}

template <class T, class Combine>
T reduce_lanes(const Here& here, T value, U32 mask, Combine combine) {
  const Gathered lanes(here, static_cast<U32>(value), mask);
  U32 rest = lanes.mask();
  T result = static_cast<T>(lanes.value_of(static_cast<U32>(std::countr_zero(rest))));
  for (rest &= rest - 1; rest != 0; rest &= rest - 1)
    result =
        combine(result, static_cast<T>(lanes.value_of(static_cast<U32>(std::countr_zero(rest)))));
  return result;
}
template <class T>
T redux_add(Here here, T value, U32 mask) {
  return reduce_lanes(here, value, mask, [](T a, T b) { return ptx_add(a, b); });
}
template <class T>
T redux_min(Here here, T value, U32 mask) {
  return reduce_lanes(here, value, mask, [](T a, T b) { return ptx_min(a, b); });
}
template <class T>
T redux_max(Here here, T value, U32 mask) {
  return reduce_lanes(here, value, mask, [](T a, T b) { return ptx_max(a, b); });
}
template <class T>
T redux_and(Here here, T value, U32 mask) {
  return reduce_lanes(here, value, mask, [](T a, T b) { return ptx_and(a, b); });
}
template <class T>
T redux_or(Here here, T value, U32 mask) {
  return reduce_lanes(here, value, mask, [](T a, T b) { return ptx_or(a, b); });
}
template <class T>
T redux_xor(Here here, T value, U32 mask) {
  return reduce_lanes(here, value, mask, [](T a, T b) { return ptx_xor(a, b); });
}

/// All that CUDA promises of the lanes that are active.
inline U32 active_mask(const Thread* thread) { return U32{1} << thread->lane; }

[[noreturn]] inline void trap(Here here) {
  ptbench_emulator_trap(here.thread, here.file, here.line);
}
/// assert() of device code; `text`, `file` and `line` point at the values.
inline void __assertfail(Thread* thread, const U8* text, const U8* file, const U8* line,
                         const U8* /*function*/, const U8* /*character_bytes*/) {
  ptbench_emulator_assert(thread, *reinterpret_cast<const char* const*>(text),
                          *reinterpret_cast<const char* const*>(file),
                          *reinterpret_cast<const U32*>(line));
}

}  // namespace ptbench::emulator
