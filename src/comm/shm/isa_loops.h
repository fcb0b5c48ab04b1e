#pragma once

#include "src/device/isa.h"

// Plain loops for every instruction set in one binary, as kernels/cpu/simd.h explains: a loop is
// written once, in a lambda, and compiled again inside each of the functions below.
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#define PTBENCH_COMM_TARGET_V4 "arch=x86-64-v4"
#else
// Without the preference g++ would use half of each register.
#define PTBENCH_COMM_TARGET_V4 "arch=x86-64-v4,prefer-vector-width=512"
#endif

namespace ptbench::isa_loops {

template <class Loop>
[[gnu::target(PTBENCH_COMM_TARGET_V4), gnu::flatten]] inline void run_v4(const Loop& loop) {
  loop();
}

template <class Loop>
[[gnu::target("arch=x86-64-v3"), gnu::flatten]] inline void run_v3(const Loop& loop) {
  loop();
}

/// Runs `loop` compiled for `isa`.
template <class Loop>
inline void run(Isa isa, const Loop& loop) {
  switch (isa) {
    case Isa::x86_64_v4: run_v4(loop); return;
    case Isa::x86_64_v3: run_v3(loop); return;
    case Isa::x86_64: loop(); return;
  }
}

}  // namespace ptbench::isa_loops

#undef PTBENCH_COMM_TARGET_V4
#else

namespace ptbench::isa_loops {

template <class Loop>
inline void run(Isa /*isa*/, const Loop& loop) {
  loop();
}

}  // namespace ptbench::isa_loops
#endif
