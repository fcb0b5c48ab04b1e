// How communicators begin, end, and notice that others are gone.
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {
namespace {

/// Asks until it is something else than ncclInProgress.
ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    NCCL_CHECK(ncclCommGetAsyncError(comm, &state));
    usleep(500);
  }
  return state;
}

/// Every call of a communicator that blocks nobody may be in progress when it returns.
bool non_blocking(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    CASE_CHECK(cudaSetDevice(rank.rank));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    if (rank.rank == 1) usleep(20000);
    if (ncclCommInitRankConfig(&comm, rank.ranks, rank.id, rank.rank, &config) != ncclInProgress)
      return false;
    const StreamOwner stream;
    const DeviceArray<float> values(std::vector<float>(8, 1.0F));
    if (faulty) {  // too early for the first rank
      const ncclResult_t result =
          ncclAllReduce(values.get(), values.get(), 8, ncclFloat32, ncclSum, comm, stream.get());
      NCCL_CHECK(ncclCommAbort(comm));
      return rank.rank == 1 || result == ncclInvalidArgument;
    }
    if (settled(comm) != ncclSuccess) return false;
    int count = 0;
    NCCL_CHECK(ncclCommCount(comm, &count));
    const ncclResult_t first =
        ncclAllReduce(values.get(), values.get(), 8, ncclFloat32, ncclSum, comm, stream.get());
    if (first != ncclInProgress || settled(comm) != ncclSuccess) return false;
    stream.finish();
    NCCL_CHECK(ncclCommFinalize(comm));
    const bool left = settled(comm) == ncclSuccess;
    NCCL_CHECK(ncclCommDestroy(comm));
    return left && count == 2 && same("sum", values.read(), std::vector<float>(8, 2.0F));
  });
}

/// Two ranks on the first device: refused, unless they say that they are of two hosts.
bool duplicate(bool faulty) {
  return in_processes(2, [=](const Rank& rank) {
    if (!faulty) setenv("NCCL_HOSTID", rank.rank == 0 ? "one" : "other", 1);
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, 2, rank.id, rank.rank);
    if (!faulty) NCCL_CHECK(ncclCommDestroy(comm));
    if (!faulty) return result == ncclSuccess;
    return result == ncclInvalidUsage && comm == nullptr &&
           std::strcmp(
               ncclGetLastError(nullptr),
               "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device eeee01000") == 0;
  });
}

/// An all-reduce of which another rank is no part: what comes of it in so many milliseconds, until
/// it is given up. ncclNumResults where the stream did not wait.
ncclResult_t waited_for(ncclComm_t comm, int milliseconds) {
  const StreamOwner stream;
  const DeviceArray<float> values(std::vector<float>(8, 1.0F));
  NCCL_CHECK(
      ncclAllReduce(values.get(), values.get(), 8, ncclFloat32, ncclSum, comm, stream.get()));
  ncclResult_t state = ncclSuccess;
  bool waits = true;
  for (int turn = 0; turn < milliseconds && state == ncclSuccess; ++turn) {
    usleep(1000);
    NCCL_CHECK(ncclCommGetAsyncError(comm, &state));
    waits = waits && cudaStreamQuery(stream.get()) == cudaErrorNotReady;
  }
  NCCL_CHECK(ncclCommAbort(comm));
  stream.finish();
  return waits ? state : ncclNumResults;
}

/// The last rank dies before it takes part: the others are told.
bool dead_rank(bool) {
  return in_processes(3, [](const Rank& rank) {
    CASE_CHECK(cudaSetDevice(rank.rank));
    ncclComm_t comm = nullptr;
    NCCL_CHECK(ncclCommInitRank(&comm, rank.ranks, rank.id, rank.rank));
    if (rank.rank == 2) _exit(0);
    return waited_for(comm, 20000) == ncclRemoteError;
  });
}

/// The last rank stops before it takes part: the other waits, and nobody tells it why.
bool stopped_rank(bool) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  return in_processes(2, [ends](const Rank& rank) {
    CASE_CHECK(cudaSetDevice(rank.rank));
    ncclComm_t comm = nullptr;
    NCCL_CHECK(ncclCommInitRank(&comm, rank.ranks, rank.id, rank.rank));
    char given_up = 0;
    if (rank.rank == 1) {
      const bool is_told = read(ends[0], &given_up, 1) == 1;
      NCCL_CHECK(ncclCommAbort(comm));
      return is_told;
    }
    const bool right = waited_for(comm, 20) == ncclSuccess;
    return write(ends[1], &given_up, 1) == 1 && right;
  });
}

bool split(bool) {
  return in_processes(4, [](const Rank& rank) {
    const RankOwner all(rank);
    ncclComm_t part = nullptr;
    const int color = rank.rank == 3 ? NCCL_SPLIT_NOCOLOR : rank.rank % 2;
    NCCL_CHECK(ncclCommSplit(all.get(), color, -rank.rank, &part, nullptr));
    if (rank.rank == 3) return part == nullptr;
    int own = -1;
    int count = 0;
    NCCL_CHECK(ncclCommUserRank(part, &own));
    NCCL_CHECK(ncclCommCount(part, &count));
    const StreamOwner stream;
    const DeviceArray<float> values(std::vector<float>(8, 1.0F + static_cast<float>(rank.rank)));
    NCCL_CHECK(
        ncclAllReduce(values.get(), values.get(), 8, ncclFloat32, ncclSum, part, stream.get()));
    stream.finish();
    NCCL_CHECK(ncclCommDestroy(part));
    const bool is_even = rank.rank % 2 == 0;
    return own == (rank.rank == 0 ? 1 : 0) && count == (is_even ? 2 : 1) &&
           same("of its colour", values.read(), std::vector<float>(8, is_even ? 4.0F : 2.0F));
  });
}

bool left_communicator(bool faulty) {
  return in_processes(1, [=](const Rank& rank) {
    ncclComm_t comm = nullptr;
    NCCL_CHECK(ncclCommInitRank(&comm, 1, rank.id, 0));
    if (!faulty) NCCL_CHECK(ncclCommDestroy(comm));
    return true;
  });
}

bool left_registration(bool faulty) {
  return in_processes(1, [=](const Rank& rank) {
    const RankOwner comm(rank);
    void* at = nullptr;
    void* registration = nullptr;
    NCCL_CHECK(ncclMemAlloc(&at, 4096));
    NCCL_CHECK(ncclCommRegister(comm.get(), at, 4096, &registration));
    if (!faulty) NCCL_CHECK(ncclCommDeregister(comm.get(), registration));
    NCCL_CHECK(ncclMemFree(at));
    return true;
  });
}

bool use_after_destroy(bool faulty) {
  return in_processes(1, [=](const Rank& rank) {
    ncclComm_t comm = nullptr;
    NCCL_CHECK(ncclCommInitRank(&comm, 1, rank.id, 0));
    const DeviceArray<float> values(std::vector<float>(8, 1.0F));
    if (faulty) NCCL_CHECK(ncclCommDestroy(comm));
    NCCL_CHECK(ncclAllReduce(values.get(), values.get(), 8, ncclFloat32, ncclSum, comm, nullptr));
    CASE_CHECK(cudaDeviceSynchronize());
    NCCL_CHECK(ncclCommDestroy(comm));
    return true;
  });
}

/// Calls that fail, and say so: what is not emulated never succeeds.
bool refusals(bool) {
  return in_processes(1, [](const Rank& rank) {
    const RankOwner comm(rank);
    const DeviceArray<float> values(std::vector<float>(8, 1.0F));
    float* at = values.get();
    const std::vector<float> host(8, 1.0F);
    ncclRedOp_t op = ncclSum;
    return ncclAllReduce(at, at, 8, ncclFloat8e4m3, ncclSum, comm.get(), nullptr) ==
               ncclInvalidUsage &&
           ncclAlltoAll(at, at, 8, ncclFloat32, comm.get(), nullptr) == ncclInvalidUsage &&
           ncclCommWindowRegister(comm.get(), at, 8, nullptr, 0) == ncclInvalidUsage &&
           ncclRedOpCreatePreMulSum(&op, at, ncclFloat32, ncclScalarDevice, comm.get()) ==
               ncclInvalidUsage &&
           ncclAllReduce(at, nullptr, 8, ncclFloat32, ncclSum, comm.get(), nullptr) ==
               ncclInvalidArgument &&
           ncclBroadcast(at, at, 8, ncclFloat32, 1, comm.get(), nullptr) == ncclInvalidArgument &&
           ncclGroupEnd() == ncclInvalidUsage;
  });
}

/// As PTBENCH_EMULATOR_NCCL has it: prints the version, then what comes of a communicator.
bool as_environment_says(bool) {
  int version = 0;
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  NCCL_CHECK(ncclGetVersion(&version));
  ncclResult_t result = ncclGetUniqueId(&id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (result == ncclSuccess) result = ncclCommInitRankConfig(&comm, 1, id, 0, &config);
  for (int turn = 0; turn < 20 && result == ncclInProgress; ++turn) {
    usleep(1000);
    NCCL_CHECK(ncclCommGetAsyncError(comm, &result));
  }
  std::printf("%d %d\n", version, static_cast<int>(result));
  NCCL_CHECK(ncclCommAbort(comm));
  return true;
}

}  // namespace

std::vector<Case> forming_cases() {
  return {{"non-blocking", non_blocking},
          {"duplicate", duplicate},
          {"dead-rank", dead_rank},
          {"stopped-rank", stopped_rank},
          {"split", split},
          {"left-communicator", left_communicator},
          {"left-registration", left_registration},
          {"use-after-destroy", use_after_destroy},
          {"refusals", refusals},
          {"as-environment-says", as_environment_says}};
}

}  // namespace ptbench::emulator::cases
