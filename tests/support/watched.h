#pragma once

namespace ptbench::testing {

/// Whether a sanitizer watches this build: everything takes many times as long, and memory besides.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsWatched = true;
#else
inline constexpr bool kIsWatched = false;
#endif

}  // namespace ptbench::testing
