#pragma once

#include <type_traits>

#include "kernels/cpu/vector.h"
#include "src/device/isa.h"

// Vector loops for every instruction set in one binary: a loop is written once, plainly, in a
// lambda, and compiled again inside each of the functions below (`flatten` inlines the lambda,
// which as a function of its own would not inherit the target). No file is compiled with -march, so
// nothing above the baseline leaks into functions that are shared with the rest of the program.
//
// A loop that works on vectors takes std::type_identity<Vector>, which says how sixteen floats lie
// in this instruction set's registers; any other takes nothing.
namespace ptbench::simd {

template <class Vector, class Loop>
[[gnu::always_inline]] inline void call(const Loop& loop) {
  if constexpr (std::is_invocable_v<const Loop&, std::type_identity<Vector>>)
    loop(std::type_identity<Vector>{});
  else
    loop();
}

}  // namespace ptbench::simd

#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#define PTBENCH_TARGET_V4 "arch=x86-64-v4"
#else
// Without the preference g++ would use half of each register.
#define PTBENCH_TARGET_V4 "arch=x86-64-v4,prefer-vector-width=512"
#endif

namespace ptbench::simd {

template <class Loop>
[[gnu::target(PTBENCH_TARGET_V4), gnu::flatten]] inline void run_v4(const Loop& loop) {
  call<Floats<1>>(loop);
}

template <class Loop>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] inline void run_v3(const Loop& loop) {
  call<Floats<2>>(loop);
}

/// Runs `loop` compiled for `isa`. Results may differ in rounding between instruction sets (fused
/// multiply-add), never within one.
template <class Loop>
inline void run(Isa isa, const Loop& loop) {
  switch (isa) {
    case Isa::x86_64_v4: run_v4(loop); return;
    case Isa::x86_64_v3: run_v3(loop); return;
    case Isa::x86_64: call<Floats<4>>(loop); return;
  }
}

}  // namespace ptbench::simd

#undef PTBENCH_TARGET_V4
#else

namespace ptbench::simd {

template <class Loop>
inline void run(Isa /*isa*/, const Loop& loop) {
  call<Floats<4>>(loop);
}

}  // namespace ptbench::simd
#endif
