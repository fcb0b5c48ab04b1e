// How the CUDA engine's kernels share elements out to threads, for more of them than 32 bits count.
#include <catch2/catch.hpp>

#include "kernels/cuda/packs.h"
#include "kernels/tensor.h"
#include "src/device/cuda/grid_threads.h"

namespace {

using namespace ptbench;

/// Each element once, in launches that have a thread for each pack and less than a block too many.
template <class T>
void check_packs(Size count, bool aligned) {
  CAPTURE(sizeof(T), count, aligned);
  Size covered = 0;
  cuda::in_packs<T>(count, aligned, [&](auto lanes, Size first, Size packs) {
    CHECK(first == covered);
    CHECK(packs > 0);
    CHECK((lanes() == 1 || (aligned && lanes() == cuda::kMostLanes<T>)));
    const Size threads = Size{cuda::blocks_for(packs)} * cuda::kThreads;
    CHECK(threads >= packs);
    CHECK(threads - cuda::kThreads < packs);
    covered += packs * lanes();
  });
  CHECK(covered == count);
}

}  // namespace

TEST_CASE("packs and what is left behind them are every element once") {
  constexpr Size kHalf = Size{1} << 31U;
  for (const Size count :
       {Size{0}, Size{1}, Size{3}, Size{8}, Size{255}, Size{256}, Size{257}, Size{258}, Size{259},
        Size{1027}, kHalf - 1, kHalf, kHalf + 5, 2 * kHalf + 3, 8 * kHalf + 7})
    for (const bool aligned : {false, true}) {
      check_packs<float>(count, aligned);
      check_packs<Bf16>(count, aligned);
    }
}

TEST_CASE("threads are numbered where 32 bits do not count them") {
  CHECK(number_of({.block = 0, .block_threads = 256, .thread = 7}) == 7);
  CHECK(number_of({.block = 1, .block_threads = 8, .thread = 7}) == 15);
  CHECK(number_of({.block = 1U << 23U, .block_threads = 256, .thread = 255}) ==
        (Size{1} << 31U) + 255);
  CHECK(number_of({.block = 0x7fff'ffffU, .block_threads = 1024, .thread = 1023}) ==
        (Size{1} << 41U) - 1);
}
