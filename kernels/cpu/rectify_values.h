#pragma once

#include "kernels/cpu/map.h"
#include "kernels/cpu/simd.h"
#include "kernels/tensor.h"

namespace ptbench {

/// values = max(0, values), f32 or bf16; NaN stays NaN. One thread.
inline void rectify_values(Isa isa, ElementType type, std::span<std::byte> values) {
  const auto rectify_all = [isa]<class T>(std::span<T> all) {
    simd::run(isa, [&]<class Vector>(std::type_identity<Vector> /*vector*/) {
      const auto max0 = [](const Vector& x) __attribute__((always_inline)) { return rectify(x); };
      simd::map<Vector>({0, std::ssize(all)}, all.data(), max0, all.data());
    });
  };
  if (type == ElementType::f32)
    rectify_all(elements<float>(values));
  else
    rectify_all(elements<Bf16>(values));
}

}  // namespace ptbench
