#pragma once

namespace ptbench::cuda {

constexpr int kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffU;

// Results of all 32 threads, which all take part; every thread gets it. The butterfly's order is
// fixed, so that results repeat.

__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(kWholeWarp, value, distance));
  return value;
}

__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kWholeWarp, value, distance);
  return value;
}

}  // namespace ptbench::cuda
