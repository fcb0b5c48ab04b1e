#include "src/device/cuda/handles.h"

namespace ptbench {

OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  PTBENCH_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

OwnedStream make_urgent_stream() {
  int lowest = 0;
  int highest = 0;
  PTBENCH_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  cudaStream_t stream = nullptr;
  PTBENCH_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest));
  return OwnedStream(stream);
}

OwnedEvent make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  PTBENCH_CUDA(cudaEventCreateWithFlags(&event, flags));
  return OwnedEvent(event);
}

}  // namespace ptbench
