#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/cuda_emulator/cases/case.h"

// Programs of several ranks. Each case runs healthy, and most have a fault on request.

namespace ptbench::emulator::cases {

/// Ends the process where a call failed that should not.
#define NCCL_CHECK(CALL)                                                                         \
  do {                                                                                           \
    if (const ncclResult_t error_ = (CALL); error_ != ncclSuccess) {                             \
      std::printf("%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #CALL, ncclGetErrorString(error_), \
                  ncclGetLastError(nullptr));                                                    \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (0)

/// A rank, in a process of its own.
struct Rank {
  int rank;
  int ranks;
  ncclUniqueId id;
};

/// Runs `body` in `ranks` processes; rank 0 makes the id. True where all return true; where one
/// ended with another status than 0 and 1, the process ends with it.
bool in_processes(int ranks, const std::function<bool(const Rank&)>& body);

/// A communicator of processes, each with the device of its rank's number; destroyed with it.
class RankOwner {
 public:
  explicit RankOwner(const Rank& rank) {
    CASE_CHECK(cudaSetDevice(rank.rank));
    NCCL_CHECK(ncclCommInitRank(&comm_, rank.ranks, rank.id, rank.rank));
  }
  ~RankOwner() { ncclCommDestroy(comm_); }
  RankOwner(const RankOwner&) = delete;
  RankOwner& operator=(const RankOwner&) = delete;
  [[nodiscard]] ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};

/// `count` values that differ from rank to rank.
inline std::vector<float> own_values(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t index = 0; index < count; ++index)
    values[index] = static_cast<float>(index % 13) + 100.0F * static_cast<float>(rank);
  return values;
}

// One table a file.
std::vector<Case> collective_cases();
std::vector<Case> order_cases();
std::vector<Case> forming_cases();
std::vector<Case> several_device_cases();

}  // namespace ptbench::emulator::cases
