// What threads of a block, blocks of a launch and lanes of a warp owe each other.
#include "tests/cuda_emulator/cases/case.h"

namespace ptbench::emulator::cases {
namespace {

__global__ void reversed(const float* from, float* to, bool with_barrier) {
  __shared__ float cell[128];
  cell[threadIdx.x] = from[threadIdx.x];
  if (with_barrier) __syncthreads();
  to[threadIdx.x] = cell[blockDim.x - 1 - threadIdx.x];
}

std::vector<float> counted(std::size_t count, float first, float step) {
  std::vector<float> values(count);
  for (std::size_t index = 0; index < count; ++index)
    values[index] = first + step * static_cast<float>(index);
  return values;
}

bool missing_barrier(bool faulty) {
  const DeviceArray<float> from(counted(128, 0, 1));
  const DeviceArray<float> to(128);
  reversed<<<1, 128>>>(from.get(), to.get(), !faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("reversed", to.read(), counted(128, 127, -1));
}

/// Written twice: the second write must not come before the other threads have read.
__global__ void rotated(float* to, bool with_barrier) {
  __shared__ float cell[64];
  float value = static_cast<float>(threadIdx.x);
  for (int turn = 0; turn < 2; ++turn) {
    cell[threadIdx.x] = value;
    __syncthreads();
    value = cell[(threadIdx.x + 1) % 64];
    if (with_barrier) __syncthreads();
  }
  to[threadIdx.x] = value;
}

bool overwritten_too_early(bool faulty) {
  const DeviceArray<float> to(64);
  rotated<<<1, 64>>>(to.get(), !faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<float> wanted(64);
  for (std::size_t index = 0; index < 64; ++index)
    wanted[index] = static_cast<float>((index + 2) % 64);
  return same("rotated", to.read(), wanted);
}

__global__ void numbered(float* to, int stride) {
  to[threadIdx.x + blockIdx.x * static_cast<unsigned>(stride)] = static_cast<float>(blockIdx.x);
}

bool block_race(bool faulty) {
  const DeviceArray<float> to(64);
  CASE_CHECK(cudaMemset(to.get(), 0, 64 * sizeof(float)));
  numbered<<<2, 32>>>(to.get(), faulty ? 0 : 32);
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<float> wanted(64, 0.0F);
  for (std::size_t index = 32; index < 64; ++index) wanted[index] = 1;
  return same("numbered", to.read(), wanted);
}

/// The last block adds up what all blocks left: ordered by a fence and an atomic counter.
__global__ void sum_of_blocks(float* parts, unsigned* arrived, float* sum, bool with_fence) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = static_cast<float>(blockIdx.x + 1);
    if (with_fence) __threadfence();
    is_last = atomicAdd(arrived, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 32) return;
  float all = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) all += parts[block];
  *sum = all;
}

bool last_block(bool faulty) {
  const DeviceArray<float> parts(8);
  const DeviceArray<unsigned> arrived(std::vector<unsigned>{0});
  const DeviceArray<float> sum(1);
  sum_of_blocks<<<8, 64>>>(parts.get(), arrived.get(), sum.get(), !faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("sum", sum.read(), std::vector<float>{36});
}

__global__ void neighbours(int* to, int lanes) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane >= lanes) return;
  to[lane] = __shfl_down_sync(0xffffffffU, lane, 1);
}

bool shuffle_mask(bool faulty) {
  const DeviceArray<int> to(32);
  CASE_CHECK(cudaMemset(to.get(), 0, 32 * sizeof(int)));
  neighbours<<<1, 32>>>(to.get(), faulty ? 16 : 32);
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<int> wanted(32, 31);
  for (int lane = 0; lane < 31; ++lane) wanted[static_cast<std::size_t>(lane)] = lane + 1;
  return same("neighbours", to.read(), wanted);
}

/// A value that lanes hand on through shared memory.
__global__ void handed_on(int* to, bool with_sync) {
  __shared__ int cell[32];
  const unsigned lane = threadIdx.x;
  cell[lane] = static_cast<int>(lane);
  if (with_sync) __syncwarp();
  to[lane] = cell[lane ^ 1U];
}

bool lane_race(bool faulty) {
  const DeviceArray<int> to(32);
  handed_on<<<1, 32>>>(to.get(), !faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<int> wanted(32);
  for (int lane = 0; lane < 32; ++lane) wanted[static_cast<std::size_t>(lane)] = lane ^ 1;
  return same("handed_on", to.read(), wanted);
}

__global__ void meet(int* to, bool divergent) {
  if (threadIdx.x >= 32 || !divergent) __syncthreads();
  if (threadIdx.x >= 32 && divergent) {
    to[threadIdx.x] = static_cast<int>(__ballot_sync(0xffffffffU, threadIdx.x < 48));
    return;
  }
  to[threadIdx.x] = divergent ? static_cast<int>(__shfl_sync(0x1U, threadIdx.x, 0)) : 1;
}

bool own_mask(bool faulty) {
  const DeviceArray<int> to(64);
  meet<<<1, 64>>>(to.get(), faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("meet", to.read(), std::vector<int>(64, 1));
}

__global__ __launch_bounds__(256) void bounded(int* to) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *to = static_cast<int>(blockDim.x);
}

/// Launches that are impossible return errors; nothing is reported.
bool block_size(bool faulty) {
  const DeviceArray<int> to(std::vector<int>{0});
  bounded<<<1, faulty ? 2048 : 256>>>(to.get());
  if (faulty) return cudaGetLastError() == cudaErrorInvalidConfiguration;
  CASE_CHECK(cudaGetLastError());
  if (to.read()[0] != 256) return false;
  bounded<<<1, 512>>>(to.get());
  return cudaGetLastError() == cudaErrorInvalidValue;
}

__global__ void dynamic(float* to, int used) {
  extern __shared__ float cells[];
  for (int index = static_cast<int>(threadIdx.x); index < used; index += 32) cells[index] = 1;
  __syncwarp();
  to[threadIdx.x] = cells[threadIdx.x];
}

bool dynamic_shared(bool faulty) {
  const DeviceArray<float> to(32);
  dynamic<<<1, 32, 64 * sizeof(float)>>>(to.get(), faulty ? 65 : 64);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("dynamic", to.read(), std::vector<float>(32, 1.0F));
}

}  // namespace

std::vector<Case> block_cases() {
  return {{"missing-barrier", missing_barrier},
          {"overwritten-too-early", overwritten_too_early},
          {"block-race", block_race},
          {"last-block", last_block},
          {"shuffle-mask", shuffle_mask},
          {"lane-race", lane_race},
          {"own-mask", own_mask},
          {"block-size", block_size},
          {"dynamic-shared", dynamic_shared}};
}

}  // namespace ptbench::emulator::cases
