// Accesses to memory that is not there, not written or not the device's.
#include "tests/cuda_emulator/cases/case.h"

namespace ptbench::emulator::cases {
namespace {

__global__ void doubled(const float* from, float* to, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) to[index] = 2 * from[index];
}

bool out_of_bounds(bool faulty) {
  const DeviceArray<float> from(std::vector<float>(100, 1.5F));
  const DeviceArray<float> to(100);
  doubled<<<1, 128>>>(from.get(), to.get(), faulty ? 101 : 100);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("doubled", to.read(), std::vector<float>(100, 3.0F));
}

bool uninitialised(bool faulty) {
  const DeviceArray<float> from(64);
  const DeviceArray<float> to(64);
  if (!faulty) CASE_CHECK(cudaMemset(from.get(), 0, 64 * sizeof(float)));
  doubled<<<1, 64>>>(from.get(), to.get(), 64);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("doubled", to.read(), std::vector<float>(64, 0.0F));
}

bool use_after_free(bool faulty) {
  float* from = nullptr;
  CASE_CHECK(cudaMalloc(&from, 64 * sizeof(float)));
  CASE_CHECK(cudaMemset(from, 0, 64 * sizeof(float)));
  const DeviceArray<float> to(64);
  if (faulty) CASE_CHECK(cudaFree(from));
  doubled<<<1, 64>>>(from, to.get(), 64);
  CASE_CHECK(cudaDeviceSynchronize());
  CASE_CHECK(cudaFree(from));
  return same("doubled", to.read(), std::vector<float>(64, 0.0F));
}

bool host_access(bool faulty) {
  const DeviceArray<float> values(std::vector<float>(8, 4.0F));
  const float first = faulty ? *values.get() : values.read()[0];
  return first == 4.0F;
}

bool host_memory(bool faulty) {
  std::vector<float> host(64, 1.0F);
  const DeviceArray<float> from(host);
  const DeviceArray<float> to(64);
  doubled<<<1, 64>>>(faulty ? host.data() : from.get(), to.get(), 64);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("doubled", to.read(), std::vector<float>(64, 2.0F));
}

__global__ void pairs(const float* from, float* to, int offset) {
  const auto index = threadIdx.x;
  const float2 both = *reinterpret_cast<const float2*>(from + 2 * index + offset);
  to[index] = both.x + both.y;
}

bool misaligned(bool faulty) {
  const DeviceArray<float> from(std::vector<float>(66, 1.0F));
  const DeviceArray<float> to(32);
  pairs<<<1, 32>>>(from.get(), to.get(), faulty ? 1 : 0);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("pairs", to.read(), std::vector<float>(32, 2.0F));
}

bool leak(bool faulty) {
  float* at = nullptr;
  CASE_CHECK(cudaMalloc(&at, 1000));
  if (!faulty) CASE_CHECK(cudaFree(at));
  return true;
}

bool page_locked_reuse(bool faulty) {
  constexpr std::size_t kCount = 256;
  float* staging = nullptr;
  CASE_CHECK(cudaMallocHost(&staging, kCount * sizeof(float)));
  for (std::size_t index = 0; index < kCount; ++index) staging[index] = 1;
  const DeviceArray<float> to(kCount);
  const StreamOwner stream;
  CASE_CHECK(cudaMemcpyAsync(to.get(), staging, kCount * sizeof(float), cudaMemcpyHostToDevice,
                             stream.get()));
  if (!faulty) stream.finish();
  for (std::size_t index = 0; index < kCount; ++index) staging[index] = 2;
  stream.finish();
  const bool right = same("copied", to.read(), std::vector<float>(kCount, 1.0F));
  CASE_CHECK(cudaFreeHost(staging));
  return right;
}

__constant__ float table[4];
__device__ int counter;

__global__ void look_up(const int* which, float* to) {
  to[threadIdx.x] = table[which[threadIdx.x]];
  atomicAdd(&counter, 1);
}

bool variables(bool faulty) {
  const float values[4] = {1, 2, 4, 8};
  CASE_CHECK(cudaMemcpyToSymbol(table, values, sizeof values));
  const DeviceArray<int> which(std::vector<int>{3, 2, faulty ? 4 : 1, 0});
  const DeviceArray<float> to(4);
  look_up<<<1, 4>>>(which.get(), to.get());
  int calls = 0;
  CASE_CHECK(cudaMemcpyFromSymbol(&calls, counter, sizeof calls));
  return calls == 4 && same("look_up", to.read(), std::vector<float>{8, 4, 2, 1});
}

}  // namespace

std::vector<Case> memory_cases() {
  return {{"out-of-bounds", out_of_bounds},
          {"uninitialised", uninitialised},
          {"use-after-free", use_after_free},
          {"host-access", host_access},
          {"host-memory", host_memory},
          {"misaligned", misaligned},
          {"leak", leak},
          {"page-locked-reuse", page_locked_reuse},
          {"variables", variables}};
}

}  // namespace ptbench::emulator::cases
