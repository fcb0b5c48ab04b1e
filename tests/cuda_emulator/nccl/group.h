#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <vector>

#include "tests/cuda_emulator/nccl/communicator.h"
#include "tests/cuda_emulator/nccl/operation.h"

namespace ptbench::emulator::nccl {

/// What a thread asks for between ncclGroupStart and ncclGroupEnd; calls outside are groups of one.
class Group {
 public:
  void start() { ++depth_; }
  ncclResult_t end();

  ncclResult_t add(const std::shared_ptr<Communicator>& communicator, const Request& request,
                   cudaStream_t stream);
  /// A communicator that is being formed: waited for at the end, if it blocks.
  ncclResult_t add(const std::shared_ptr<Communicator>& forming);
  /// The group's result is that of its first call that failed.
  ncclResult_t failed(ncclResult_t result);

 private:
  struct Launch {
    std::shared_ptr<Communicator> communicator;
    cudaStream_t stream;
    std::vector<Request> requests;
  };
  static ncclResult_t launch(const Launch& launch);

  int depth_ = 0;
  ncclResult_t result_ = ncclSuccess;
  std::vector<Launch> launches_;
  std::vector<std::shared_ptr<Communicator>> forming_;
};

/// The calling thread's.
[[nodiscard]] Group& group();

}  // namespace ptbench::emulator::nccl
