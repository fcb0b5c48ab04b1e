#include "src/comm/nccl/wire.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/grid_threads.h"

namespace ptbench::nccl {
namespace {

constexpr int kThreads = 256;

__device__ Size element_of_thread() {
  return number_of({.block = blockIdx.x, .block_threads = kThreads, .thread = threadIdx.x});
}

unsigned blocks_for(Size count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

__device__ std::uint16_t bf16_of(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U)
    return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);  // NaN, quiet
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

__global__ void __launch_bounds__(kThreads)
    pack_bf16_kernel(const float* __restrict__ values, Size count,
                     std::uint16_t* __restrict__ packed) {
  const Size element = element_of_thread();
  if (element < count) packed[element] = bf16_of(values[element]);
}

__global__ void __launch_bounds__(kThreads)
    unpack_bf16_kernel(const std::uint16_t* __restrict__ packed, Size count,
                       float* __restrict__ values) {
  const Size element = element_of_thread();
  if (element < count)
    values[element] = __uint_as_float(static_cast<unsigned>(packed[element]) << 16U);
}

}  // namespace

void pack_bf16(const float* values, Size count, std::uint16_t* packed, cudaStream_t stream) {
  if (count == 0) return;
  pack_bf16_kernel<<<blocks_for(count), kThreads, 0, stream>>>(values, count, packed);
  PTBENCH_CUDA_LAUNCHED(pack_bf16_kernel);
}

void unpack_bf16(const std::uint16_t* packed, Size count, float* values, cudaStream_t stream) {
  if (count == 0) return;
  unpack_bf16_kernel<<<blocks_for(count), kThreads, 0, stream>>>(packed, count, values);
  PTBENCH_CUDA_LAUNCHED(unpack_bf16_kernel);
}

}  // namespace ptbench::nccl
