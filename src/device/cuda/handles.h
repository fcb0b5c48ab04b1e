#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "src/device/cuda/check.h"

namespace ptbench {

// Owners of the runtime's handles. Move-only; the device is current when they are made.

struct DestroyStream {
  void operator()(cudaStream_t stream) const noexcept {
    PTBENCH_CUDA_NOTE(cudaStreamDestroy(stream));
  }
};
using OwnedStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;

struct DestroyEvent {
  void operator()(cudaEvent_t event) const noexcept { PTBENCH_CUDA_NOTE(cudaEventDestroy(event)); }
};
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { PTBENCH_CUDA_NOTE(cudaGraphDestroy(graph)); }
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

struct DestroyExecutableGraph {
  void operator()(cudaGraphExec_t graph) const noexcept {
    PTBENCH_CUDA_NOTE(cudaGraphExecDestroy(graph));
  }
};
using OwnedExecutableGraph =
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyExecutableGraph>;

/// A stream that does not wait for the legacy default stream.
[[nodiscard]] OwnedStream make_stream();
/// One of the highest priority: waiting blocks of its kernels start before those of other streams.
[[nodiscard]] OwnedStream make_urgent_stream();
/// `flags` as cudaEventCreateWithFlags has them.
[[nodiscard]] OwnedEvent make_event(unsigned flags);

}  // namespace ptbench
