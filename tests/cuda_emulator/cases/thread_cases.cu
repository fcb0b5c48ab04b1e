// What lanes and threads exchange, atomics, and control flow.
#undef NDEBUG
#include <cuda_fp16.h>

#include <cassert>
#include <climits>
#include <cstdint>

#include "tests/cuda_emulator/cases/case.h"

namespace ptbench::emulator::cases {
namespace {

constexpr unsigned kAll = 0xffffffffU;

/// A kernel of one warp whose lanes write `Width` values each.
template <int Width, class Kernel>
std::vector<unsigned> lanes_of(Kernel kernel) {
  const DeviceArray<unsigned> out(32 * Width);
  kernel<<<1, 32>>>(out.get());
  CASE_CHECK(cudaDeviceSynchronize());
  return out.read();
}
/// `value(lane, index)` for each.
template <int Width, class Value>
bool lanes_are(const char* what, const std::vector<unsigned>& got, Value value) {
  std::vector<unsigned> wanted;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (int index = 0; index < Width; ++index) wanted.push_back(value(lane, index));
  return same(what, got, wanted);
}

__global__ void shuffle_all(unsigned* to) {
  const unsigned lane = threadIdx.x;
  const unsigned value = 100 + lane;
  unsigned* out = to + 6 * lane;
  out[0] = __shfl_sync(kAll, value, 5);
  out[1] = __shfl_sync(kAll, value, 9, 8);
  out[2] = __shfl_up_sync(kAll, value, 3);
  out[3] = __shfl_up_sync(kAll, value, 2, 8);
  out[4] = __shfl_down_sync(kAll, value, 3, 16);
  out[5] = __shfl_xor_sync(kAll, value, 12, 8);
}

bool shuffles(bool) {
  return lanes_are<6>("shuffles", lanes_of<6>(shuffle_all), [](unsigned lane, int index) {
    const unsigned in8 = lane % 8;
    switch (index) {
      case 0: return 105U;
      case 1: return 100 + lane / 8 * 8 + 1;
      case 2: return 100 + (lane >= 3 ? lane - 3 : lane);
      case 3: return 100 + (in8 >= 2 ? lane - 2 : lane);
      case 4: return 100 + (lane % 16 + 3 < 16 ? lane + 3 : lane);
      // Lanes of lower segments can be read, those of higher ones cannot.
      default: return 100 + ((lane ^ 12U) / 8 <= lane / 8 ? lane ^ 12U : lane);
    }
  });
}

__global__ void vote_all(unsigned* to) {
  const unsigned lane = threadIdx.x;
  unsigned* out = to + 9 * lane;
  out[0] = __ballot_sync(kAll, lane % 3 == 0);
  out[1] = __any_sync(kAll, lane == 31) ? 1 : 0;
  out[2] = __all_sync(kAll, lane < 31) ? 1 : 0;
  out[3] = __uni_sync(kAll, lane < 40) ? 1 : 0;
  out[4] = __match_any_sync(kAll, lane / 10);
  int is_same = 0;
  out[5] = __match_all_sync(kAll, lane / 32, &is_same) + static_cast<unsigned>(is_same);
  out[6] = __match_any_sync(kAll, static_cast<unsigned long long>(lane % 2) << 40U);
  out[7] = lane < 16 ? __ballot_sync(0xffffU, lane % 2) : __ballot_sync(0xffff0000U, lane % 4 == 0);
  out[8] = __activemask() >> lane & 1U;
}

bool votes(bool) {
  return lanes_are<9>("votes", lanes_of<9>(vote_all), [](unsigned lane, int index) {
    unsigned thirds = 0;
    unsigned tens = 0;
    unsigned halves = 0;
    for (unsigned other = 0; other < 32; ++other) {
      thirds |= (other % 3 == 0 ? 1U : 0U) << other;
      tens |= (other / 10 == lane / 10 ? 1U : 0U) << other;
      halves |= (other % 2 == lane % 2 ? 1U : 0U) << other;
    }
    const unsigned by_half = lane < 16 ? 0xaaaaU : 0x11110000U;
    const unsigned wanted[] = {thirds, 1, 0, 1, tens, kAll + 1, halves, by_half, 1};
    return wanted[index];
  });
}

__global__ void reduce_all(unsigned* to) {
  const unsigned lane = threadIdx.x;
  unsigned* out = to + 8 * lane;
  const int value = static_cast<int>(lane * 7 % 32) - 16;
  out[0] = __reduce_add_sync(kAll, lane);
  out[1] = static_cast<unsigned>(__reduce_min_sync(kAll, value));
  out[2] = static_cast<unsigned>(__reduce_max_sync(kAll, value));
  out[3] = __reduce_min_sync(kAll, lane + 3);
  out[4] = __reduce_max_sync(kAll, lane + 3);
  out[5] = __reduce_and_sync(kAll, lane | 0x100U);
  out[6] = __reduce_or_sync(kAll, lane);
  out[7] = __reduce_xor_sync(kAll, 1U << lane);
}

bool reductions(bool) {
  return lanes_are<8>("reductions", lanes_of<8>(reduce_all), [](unsigned, int index) {
    const unsigned wanted[] = {496, static_cast<unsigned>(-16), 15, 3, 34, 0x100, 31, kAll};
    return wanted[index];
  });
}

__global__ void count_in_block(int* to) {
  const int thread = static_cast<int>(threadIdx.x);
  to[4 * thread] = __syncthreads_count(thread % 3 == 0);
  to[4 * thread + 1] = __syncthreads_and(thread < 96);
  to[4 * thread + 2] = __syncthreads_or(thread == 95);
  // The first warp brings, the others fetch: only they wait.
  __shared__ int cell;
  if (thread < 32) {
    if (thread == 0) cell = 42;
    asm volatile("bar.arrive 1, 96;");
  } else {
    asm volatile("bar.sync 1, 96;");
  }
  to[4 * thread + 3] = thread < 32 ? 42 : cell;
}

bool block_votes(bool) {
  const DeviceArray<int> out(96 * 4);
  count_in_block<<<1, 96>>>(out.get());
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<int> wanted;
  for (int thread = 0; thread < 96; ++thread) wanted.insert(wanted.end(), {32, 1, 1, 42});
  return same("block votes", out.read(), wanted);
}

struct Cells {
  int add, least, most, conjunction, disjunction, parity, exchanged, compared, up, down;
  unsigned long long sum;
  float single;
  double twice;
  __half2 pair;
};

__global__ void change_all(Cells* cells) {
  const int value = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&cells->add, value);
  atomicMin(&cells->least, value - 5);
  atomicMax(&cells->most, value);
  atomicAnd(&cells->conjunction, ~(1 << (value % 8)));
  atomicOr(&cells->disjunction, 1 << (value % 8));
  atomicXor(&cells->parity, value);
  atomicExch(&cells->exchanged, 7);
  atomicCAS(&cells->compared, 0, 5);
  atomicInc(reinterpret_cast<unsigned*>(&cells->up), 9U);
  atomicDec(reinterpret_cast<unsigned*>(&cells->down), 9U);
  atomicAdd(&cells->sum, 1ULL << 33U);
  atomicAdd(&cells->single, 0.5F);
  atomicAdd(&cells->twice, 0.25);
  atomicAdd(&cells->pair, __floats2half2_rn(1.0F, 2.0F));
}

bool atomics(bool) {
  Cells before{};
  before.conjunction = -1;
  before.pair = __floats2half2_rn(0.0F, 0.0F);
  const DeviceArray<Cells> cells(std::vector<Cells>{before});
  change_all<<<2, 64>>>(cells.get());
  CASE_CHECK(cudaDeviceSynchronize());
  const Cells after = cells.read()[0];
  const float2 pair = __half22float2(after.pair);
  return after.add == 127 * 64 && after.least == -5 && after.most == 127 &&
         after.conjunction == ~0xff && after.disjunction == 0xff && after.parity == 0 &&
         after.exchanged == 7 && after.compared == 5 && after.up == 128 % 10 && after.down == 2 &&
         after.sum == 128ULL << 33U && after.single == 64 && after.twice == 32 && pair.x == 128 &&
         pair.y == 256;
}

__noinline__ __device__ int triangle(int number) {
  int sum = 0;
  for (int step = 1; step <= number; ++step) sum += step;
  return sum;
}

__global__ void branch(const int* which, int* to) {
  const int thread = static_cast<int>(threadIdx.x);
  int own[8];
  for (int index = 0; index < 8; ++index) own[index] = index * index;
  switch (which[thread]) {
    case 0: to[thread] = 10; break;
    case 1: to[thread] = triangle(which[thread] + 3); break;
    case 2: to[thread] = own[which[thread] + 1]; break;
    case 3: to[thread] = to[thread] / 2; break;
    case 4: to[thread] = which[0] + 90; break;
    case 5: to[thread] = triangle(thread); break;
    case 6: to[thread] = static_cast<int>(sqrtf(81.0F)); break;
    default: to[thread] = -1;
  }
}

/// As nvcc writes large switches, and atomics whose result nobody wants.
__global__ void jump(const int* which, int* to, int* jumps) {
  int value = 0;
  asm volatile(
      "{\n"
      "targets: .branchtargets first, second, third;\n"
      "brx.idx %1, targets;\n"
      "first: mov.u32 %0, 5; bra.uni done;\n"
      "second: mov.u32 %0, 6; bra.uni done;\n"
      "third: mov.u32 %0, 7;\n"
      "done:\n"
      "}"
      : "=r"(value)
      : "r"(which[threadIdx.x]));
  asm volatile("red.global.add.s32 [%0], 1;" ::"l"(jumps) : "memory");
  to[threadIdx.x] = value;
}

bool jumps(bool) {
  const DeviceArray<int> which(std::vector<int>{2, 0, 1, 1});
  const DeviceArray<int> to(4);
  const DeviceArray<int> count(std::vector<int>{0});
  jump<<<1, 4>>>(which.get(), to.get(), count.get());
  CASE_CHECK(cudaDeviceSynchronize());
  return count.read()[0] == 4 && same("jumps", to.read(), std::vector<int>{7, 5, 6, 6});
}

bool branches(bool) {
  const DeviceArray<int> which(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  const DeviceArray<int> to(std::vector<int>(8, 40));
  branch<<<1, 8>>>(which.get(), to.get());
  CASE_CHECK(cudaDeviceSynchronize());
  return same("branches", to.read(), std::vector<int>{10, 10, 9, 20, 90, 15, 9, -1});
}

/// Loads and stores of every width.
__global__ void widths(const char* from, char* to) {
  const auto thread = threadIdx.x;
  reinterpret_cast<signed char*>(to)[thread] =
      static_cast<signed char>(reinterpret_cast<const signed char*>(from)[thread] / 2);
  reinterpret_cast<short2*>(to + 64)[thread] = reinterpret_cast<const short2*>(from + 64)[thread];
  reinterpret_cast<float4*>(to + 256)[thread] =
      __ldg(reinterpret_cast<const float4*>(from + 256) + thread);
  reinterpret_cast<double2*>(to + 1024)[thread] =
      __ldcs(reinterpret_cast<const double2*>(from + 1024) + thread);
  __stcs(reinterpret_cast<uint2*>(to + 2048) + thread,
         reinterpret_cast<const uint2*>(from + 2048)[thread]);
  *reinterpret_cast<volatile short*>(to + 3000 + 2 * thread) =
      *reinterpret_cast<const volatile short*>(from + 3000 + 2 * thread);
}

bool accesses(bool) {
  std::vector<char> values(4096);
  for (std::size_t index = 0; index < values.size(); ++index)
    values[index] = static_cast<char>(index * 37 + index / 256);
  const DeviceArray<char> from(values);
  const DeviceArray<char> to(std::vector<char>(4096, 0));
  widths<<<1, 32>>>(from.get(), to.get());
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<char> wanted(4096, 0);
  for (std::size_t index = 0; index < 32; ++index)
    wanted[index] = static_cast<char>(static_cast<signed char>(values[index]) / 2);
  const auto copied = [&](std::size_t begin, std::size_t bytes) {
    for (std::size_t index = begin; index < begin + bytes; ++index) wanted[index] = values[index];
  };
  copied(64, 128);
  copied(256, 512);
  copied(1024, 512);
  copied(2048, 256);
  copied(3000, 64);
  return same("accesses", to.read(), wanted);
}

__global__ void waiting(int* to, bool for_ever) {
  if (threadIdx.x < 32 || !for_ever) asm volatile("bar.sync 2, 64;");
  to[threadIdx.x] = 1;
}

bool hang(bool faulty) {
  const DeviceArray<int> to(64);
  waiting<<<1, 64>>>(to.get(), faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  return same("waiting", to.read(), std::vector<int>(64, 1));
}

__global__ void special(unsigned* to) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  unsigned lane = 0;
  unsigned below = 0;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  to[block * threads + thread] = lane + 32 * (thread / 32) + 1000 * block + (below >> 31U);
}

bool indices(bool) {
  const dim3 grid(2, 3, 2);
  const dim3 block(5, 4, 3);
  const DeviceArray<unsigned> to(12 * 60);
  special<<<grid, block>>>(to.get());
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<unsigned> wanted;
  for (unsigned index = 0; index < 12; ++index)
    for (unsigned thread = 0; thread < 60; ++thread) wanted.push_back(1000 * index + thread);
  return same("indices", to.read(), wanted);
}

/// What changes no value, and ends of threads.
__global__ void oddities(int* to, int faulty) {
  const unsigned thread = threadIdx.x;
  asm volatile("prefetch.global.L1 [%0];" ::"l"(to));
  __nanosleep(100);
  to[thread] = 1;
  asm volatile("fence.acq_rel.gpu;");
  asm volatile("membar.cta;");
  asm volatile("barrier.sync 3;");
  if (thread == 5) asm volatile("exit;");
  if (thread == 7 && faulty == 1) __trap();
  if (thread == 7 && faulty == 2) assert(thread != 7);
  to[thread] = 2;
}

bool run_oddities(int faulty) {
  const DeviceArray<int> to(32);
  oddities<<<1, 32>>>(to.get(), faulty);
  CASE_CHECK(cudaDeviceSynchronize());
  std::vector<int> wanted(32, 2);
  wanted[5] = 1;
  return same("oddities", to.read(), wanted);
}
bool trap(bool faulty) { return run_oddities(faulty ? 1 : 0); }
bool assertion(bool faulty) { return run_oddities(faulty ? 2 : 0); }

}  // namespace

std::vector<Case> thread_cases() {
  return {{"shuffles", shuffles},
          {"votes", votes},
          {"reductions", reductions},
          {"block-votes", block_votes},
          {"atomics", atomics},
          {"branches", branches},
          {"jumps", jumps},
          {"accesses", accesses},
          {"hang", hang},
          {"indices", indices},
          {"trap", trap},
          {"assertion", assertion}};
}

}  // namespace ptbench::emulator::cases
