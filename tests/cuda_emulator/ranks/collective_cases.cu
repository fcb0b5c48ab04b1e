// What each collective gives, between processes.
#include <cstdint>

#include "tests/cuda_emulator/cases/numbers.h"
#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {
namespace {

std::vector<float> sum_of(int ranks, std::size_t count) {
  std::vector<float> sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = own_values(rank, count);
    for (std::size_t index = 0; index < count; ++index) sum[index] += values[index];
  }
  return sum;
}

std::vector<float> part(const std::vector<float>& all, int which, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(count) * which;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// In place and out of place, and longer than what ranks show each other at once.
bool all_reduce_of(const Rank& rank) {
  constexpr std::size_t kLong = (std::size_t{5} << 20U) + 3;
  const RankOwner comm(rank);
  const StreamOwner stream;
  bool right = true;
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, kLong}) {
    const DeviceArray<float> from(own_values(rank.rank, count));
    const DeviceArray<float> to(count);
    const std::vector<float> wanted = sum_of(rank.ranks, count);
    NCCL_CHECK(
        ncclAllReduce(from.get(), to.get(), count, ncclFloat32, ncclSum, comm.get(), stream.get()));
    NCCL_CHECK(ncclAllReduce(from.get(), from.get(), count, ncclFloat32, ncclSum, comm.get(),
                             stream.get()));
    stream.finish();
    right =
        right && same("out of place", to.read(), wanted) && same("in place", from.read(), wanted);
  }
  return right;
}
bool all_reduce(bool) { return in_processes(3, all_reduce_of); }

/// Operations other than sums: a factor is applied before adding, as NCCL does.
bool operators_of(const Rank& rank) {
  constexpr std::size_t kCount = 64;
  const RankOwner comm(rank);
  const StreamOwner stream;
  ncclRedOp_t half = ncclSum;
  float factor = 0.5F;
  NCCL_CHECK(
      ncclRedOpCreatePreMulSum(&half, &factor, ncclFloat32, ncclScalarHostImmediate, comm.get()));
  bool right = true;
  for (const ncclRedOp_t op : {ncclProd, ncclMax, ncclMin, ncclAvg, half}) {
    const DeviceArray<float> from(own_values(rank.rank, kCount));
    const DeviceArray<float> to(kCount);
    NCCL_CHECK(
        ncclAllReduce(from.get(), to.get(), kCount, ncclFloat32, op, comm.get(), stream.get()));
    stream.finish();
    const std::vector<float> first = own_values(0, kCount);
    const std::vector<float> second = own_values(1, kCount);
    std::vector<float> wanted(kCount);
    for (std::size_t index = 0; index < kCount; ++index)
      wanted[index] = op == ncclProd  ? first[index] * second[index]
                      : op == ncclMax ? second[index]
                      : op == ncclMin ? first[index]
                                      : first[index] / 2 + second[index] / 2;
    right = right && same("combined", to.read(), wanted);
  }
  NCCL_CHECK(ncclRedOpDestroy(half, comm.get()));
  return right;
}
bool operators(bool) { return in_processes(2, operators_of); }

/// bf16 is summed in fp32, in the order of ranks, and rounded once: 256 and twice 1 make 258, of
/// which none would be left if sums were rounded at each step.
bool narrow_of(const Rank& rank) {
  const RankOwner comm(rank);
  const StreamOwner stream;
  bool right = true;
  for (const Kind kind : {Kind::bf16, Kind::f16}) {
    const float large = kind == Kind::bf16 ? 256.0F : 2048.0F;
    const Operand values(kind, std::vector<float>(16, rank.rank == 0 ? large : 1.0F));
    NCCL_CHECK(ncclAllReduce(values.get(), values.get(), 16,
                             kind == Kind::bf16 ? ncclBfloat16 : ncclFloat16, ncclSum, comm.get(),
                             stream.get()));
    stream.finish();
    right = right && same("narrow", values.read(), std::vector<float>(16, large + 2));
  }
  const DeviceArray<std::uint8_t> bytes(std::vector<std::uint8_t>(5, 7));
  NCCL_CHECK(
      ncclAllReduce(bytes.get(), bytes.get(), 5, ncclUint8, ncclSum, comm.get(), stream.get()));
  stream.finish();
  return right && same("bytes", bytes.read(), std::vector<std::uint8_t>(5, 21));
}
bool narrow(bool) { return in_processes(3, narrow_of); }

bool scatter_and_gather_of(const Rank& rank) {
  constexpr std::size_t kShare = 700001;
  const auto ranks = static_cast<std::size_t>(rank.ranks);
  const std::size_t own = kShare * static_cast<std::size_t>(rank.rank);
  const RankOwner comm(rank);
  const StreamOwner stream;
  const DeviceArray<float> all(own_values(rank.rank, kShare * ranks));
  NCCL_CHECK(ncclReduceScatter(all.get(), all.get() + own, kShare, ncclFloat32, ncclSum, comm.get(),
                               stream.get()));
  NCCL_CHECK(
      ncclAllGather(all.get() + own, all.get(), kShare, ncclFloat32, comm.get(), stream.get()));
  stream.finish();
  return same("gathered", all.read(), sum_of(rank.ranks, kShare * ranks));
}
bool scatter_and_gather(bool) { return in_processes(4, scatter_and_gather_of); }

bool rooted_of(const Rank& rank) {
  constexpr std::size_t kCount = 333;
  const RankOwner comm(rank);
  const StreamOwner stream;
  const DeviceArray<float> from(own_values(rank.rank, kCount));
  const DeviceArray<float> to(kCount);
  NCCL_CHECK(
      ncclReduce(from.get(), to.get(), kCount, ncclFloat32, ncclSum, 1, comm.get(), stream.get()));
  const DeviceArray<float> spread(kCount);
  NCCL_CHECK(ncclBroadcast(rank.rank == 1 ? to.get() : nullptr, spread.get(), kCount, ncclFloat32,
                           1, comm.get(), stream.get()));
  stream.finish();
  return same("spread", spread.read(), sum_of(rank.ranks, kCount));
}
bool rooted(bool) { return in_processes(3, rooted_of); }

/// Everyone sends to everyone in one group, and to itself.
bool messages_of(const Rank& rank) {
  constexpr std::size_t kCount = 300000;
  const RankOwner comm(rank);
  const StreamOwner stream;
  const auto ranks = static_cast<std::size_t>(rank.ranks);
  const DeviceArray<float> from(own_values(rank.rank, kCount * ranks));
  const DeviceArray<float> to(kCount * ranks);
  NCCL_CHECK(ncclGroupStart());
  for (int peer = 0; peer < rank.ranks; ++peer) {
    const std::size_t at = kCount * static_cast<std::size_t>(peer);
    NCCL_CHECK(ncclSend(from.get() + at, kCount, ncclFloat32, peer, comm.get(), stream.get()));
    NCCL_CHECK(ncclRecv(to.get() + at, kCount, ncclFloat32, peer, comm.get(), stream.get()));
  }
  NCCL_CHECK(ncclGroupEnd());
  stream.finish();
  const std::vector<float> got = to.read();
  bool right = true;
  for (int peer = 0; peer < rank.ranks; ++peer)
    right = right && same("received", part(got, peer, kCount),
                          part(own_values(peer, kCount * ranks), rank.rank, kCount));
  return right;
}
bool messages(bool) { return in_processes(3, messages_of); }

}  // namespace

std::vector<Case> collective_cases() {
  return {{"all-reduce", all_reduce}, {"operators", operators},
          {"narrow", narrow},         {"scatter-and-gather", scatter_and_gather},
          {"rooted", rooted},         {"messages", messages}};
}

}  // namespace ptbench::emulator::cases
