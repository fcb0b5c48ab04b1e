#include "src/device/cuda/cuda_queue.h"

#include <utility>

#include "src/base/error.h"

namespace ptbench {
namespace {

class CudaRecording final : public Recording {
 public:
  CudaRecording(OwnedExecutableGraph graph, cudaStream_t stream)
      : graph_(std::move(graph)), stream_(stream) {}

  void replay() override { PTBENCH_CUDA(cudaGraphLaunch(graph_.get(), stream_)); }

 private:
  OwnedExecutableGraph graph_;
  cudaStream_t stream_;
};

/// Ends the capture of a stream whose work has failed: what failed is told, not what became of the
/// capture.
void abandon_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(stream, &graph);
  (void)cudaGetLastError();
  (void)OwnedGraph(graph);
}

}  // namespace

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

cudaStream_t CudaQueue::stream() const {
  if (GatheredWork* const work = std::exchange(put_off_, nullptr)) work->launch(stream_.get());
  return stream_.get();
}

void CudaQueue::put_off(GatheredWork& work) {
  ensure(is_recording_, "work is put off while a recording is made");
  if (put_off_ != &work) (void)stream();
  put_off_ = &work;
}

std::unique_ptr<Recording> CudaQueue::keep(FunctionRef<void()> work) {
  PTBENCH_CUDA(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
  is_recording_ = true;
  try {
    work();
    (void)stream();
    is_recording_ = false;
  } catch (...) {
    is_recording_ = false;
    if (GatheredWork* const lost = std::exchange(put_off_, nullptr)) lost->drop();
    abandon_capture(stream());
    throw;
  }
  cudaGraph_t captured = nullptr;
  PTBENCH_CUDA(cudaStreamEndCapture(stream(), &captured));
  const OwnedGraph graph(captured);
  cudaGraphExec_t executable = nullptr;
  PTBENCH_CUDA(cudaGraphInstantiate(&executable, graph.get(), 0));
  OwnedExecutableGraph owned(executable);
  PTBENCH_CUDA(cudaGraphUpload(owned.get(), stream()));  // else the first launch does it
  return std::make_unique<CudaRecording>(std::move(owned), stream());
}

void CudaQueue::finish() { PTBENCH_CUDA(cudaStreamSynchronize(stream())); }

}  // namespace ptbench
