#include "src/device/cuda/cuda_queue.h"

#include "src/base/error.h"

namespace ptbench {

CudaEvent::CudaEvent(EventClock clock)
    : event_(ptbench::make_event(clock == EventClock::on ? cudaEventDefault
                                                         : cudaEventDisableTiming)) {}

void CudaEvent::finish() const { PTBENCH_CUDA(cudaEventSynchronize(handle())); }

double CudaEvent::seconds_since(const Event& earlier) const {
  constexpr double kSecondsPerMillisecond = 1e-3;
  const auto& other = dynamic_cast<const CudaEvent&>(earlier);
  float milliseconds = 0;
  PTBENCH_CUDA(cudaEventElapsedTime(&milliseconds, other.handle(), handle()));
  return kSecondsPerMillisecond * double{milliseconds};
}

std::unique_ptr<Event> CudaQueue::make_event(EventClock clock) {
  PTBENCH_CUDA(cudaSetDevice(index_));
  return std::make_unique<CudaEvent>(clock);
}

void CudaQueue::copy(std::span<const std::byte> from, std::span<std::byte> to) {
  ensure(from.size() == to.size(), "a copy is as large as its source");
  if (from.empty()) return;
  PTBENCH_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyDefault, stream()));
}

void CudaQueue::record(Event& event) {
  PTBENCH_CUDA(cudaEventRecord(dynamic_cast<CudaEvent&>(event).handle(), stream()));
}

void CudaQueue::wait(const Event& event) {
  const cudaEvent_t handle = dynamic_cast<const CudaEvent&>(event).handle();
  PTBENCH_CUDA(cudaStreamWaitEvent(stream(), handle, cudaEventWaitDefault));
}

void CudaQueue::finish() { PTBENCH_CUDA(cudaStreamSynchronize(stream())); }

}  // namespace ptbench
