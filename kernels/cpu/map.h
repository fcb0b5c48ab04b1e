#pragma once

#include <algorithm>

#include "kernels/cpu/vector.h"
#include "src/base/size.h"

// Element by element over ranges of any length. To be used inside simd::run.
namespace ptbench::simd {

constexpr Size kLanes = 16;

/// The first `count` of 16 elements; zeros in the other lanes.
template <class Vector, class T>
[[gnu::always_inline]] inline Vector load_first(const T* from, Size count) {
  if (count == kLanes) return load<Vector>(from);
  T elements[kLanes] = {};
  std::copy_n(from, count, elements);
  return load<Vector>(elements);
}

/// The first `count` of 16 elements.
template <class Vector, class T>
[[gnu::always_inline]] inline void store_first(T* to, Size count, const Vector& value) {
  if (count == kLanes) {
    store(to, value);
    return;
  }
  T elements[kLanes];
  store(elements, value);
  std::copy_n(elements, count, to);
}

/// to[i] = function(from[i]…), in float. Loads happen before stores, vector by vector.
template <class Vector, class T, class Function, class... From>
[[gnu::always_inline]] inline void map(const Range& part, T* to, const Function& function,
                                       const From*... from) {
  Size i = part.begin;
  for (; i + kLanes <= part.end; i += kLanes) store(to + i, function(load<Vector>(from + i)...));
  const Size rest = part.end - i;
  if (rest > 0) store_first(to + i, rest, function(load_first<Vector>(from + i, rest)...));
}

}  // namespace ptbench::simd
