#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ptbench {

/// While it lives, the calling thread computes with denormal numbers as zero; destroyed on the same
/// thread. Momentum of units that never fire decays into denormals after some 800 steps, and many
/// cores are an order of magnitude slower on them: a run would seem to slow down as it goes.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#else
  FlushDenormals() = default;
  ~FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
  FlushDenormals(FlushDenormals&&) = delete;
  FlushDenormals& operator=(FlushDenormals&&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kDenormalsAreZero = 0x0040;
  unsigned saved_;
#endif
};

}  // namespace ptbench
