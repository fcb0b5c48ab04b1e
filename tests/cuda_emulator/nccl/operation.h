#pragma once

#include <nccl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tests/cuda_emulator/nccl/communicator.h"

namespace ptbench::emulator::nccl {

enum class Kind { all_reduce, reduce_scatter, all_gather, broadcast, reduce, send, receive };

/// A call of NCCL that moves data.
struct Request {
  Kind kind;
  const char* call;
  const U8* from;  ///< null where nothing is sent
  U8* to;          ///< null where nothing is received
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = ncclSum;
  float factor = 1;  ///< that scales elements before they are summed
  int root = -1;     ///< or the other rank of a message; -1: none
};

/// What a stream does for calls of one group: collectives in their order, messages as they come.
/// Called under the emulated device's lock, each time that the group is launched.
std::function<bool()> make_attempt(const std::shared_ptr<Communicator>& communicator,
                                   const std::vector<Request>& requests);

}  // namespace ptbench::emulator::nccl
