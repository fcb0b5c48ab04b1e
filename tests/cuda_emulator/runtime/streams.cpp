// Streams and events.
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/runtime/call.h"

namespace ptbench::emulator {
namespace {

/// Null after setting `error` where there is no such event.
Event* event_of(cudaEvent_t handle, cudaError_t& error) {
  error = cudaSuccess;
  auto* event = reinterpret_cast<Event*>(handle);
  if (machine().events().contains(event)) return event;
  error = fail(cudaErrorInvalidResourceHandle, "an event is used that does not exist");
  return nullptr;
}

/// A captured event stands in a graph, not in time.
cudaError_t refuse_captured(const Event& event, const char* call) {
  if (!event.recorded || !event.recorded->is_captured) return cudaSuccess;
  return fail(cudaErrorCapturedEvent, text("capture: ", call, " of a captured event"));
}

cudaError_t wait_for_event(Stream& stream, const Event& event) {
  const OperationPtr& point = event.recorded;
  if (!point) return cudaSuccess;  // one that was never recorded holds nobody up
  if (point->is_captured && !stream.capture) {
    const Stream* origin = nullptr;
    for (Stream* candidate : machine().streams().all())
      if (candidate->capture && std::ranges::find(candidate->capture->operations, point) !=
                                    candidate->capture->operations.end())
        origin = candidate;
    if (origin == nullptr)
      return fail(cudaErrorCapturedEvent, text("capture: stream ", stream.number,
                                               " waits for an event of a capture that is over"));
    stream.capture = origin->capture;
    stream.last_captured = nullptr;
  }
  if (!point->is_captured && stream.capture)
    return spoil_capture(stream, cudaErrorStreamCaptureIsolation,
                         "cudaStreamWaitEvent of an event that was not captured");
  machine().streams().push(stream, "cudaStreamWaitEvent", nullptr, {point});
  return cudaSuccess;
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Call call("cudaStreamCreateWithFlags");
  if (flags > cudaStreamNonBlocking) return fail(cudaErrorInvalidValue);
  *stream = reinterpret_cast<cudaStream_t>(
      &machine().streams().create(current_device(), flags != cudaStreamNonBlocking));
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int /*priority*/) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call;
  return machine().streams().destroy(stream) ? state() : fail(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  const Call call;
  cudaError_t error = cudaSuccess;
  if (const Stream* stream = stream_of(handle, error)) *device = stream->device;
  return error;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const Call call("cudaStreamSynchronize");
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  if (stream->capture)
    return spoil_capture(*stream, cudaErrorStreamCaptureUnsupported, "cudaStreamSynchronize");
  machine().scheduler().wait_for(stream->last);
  return state();
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const Call call("cudaStreamQuery");
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  if (stream->capture)
    return spoil_capture(*stream, cudaErrorStreamCaptureUnsupported, "cudaStreamQuery");
  if (!stream->last) return cudaSuccess;
  machine().scheduler().advance();
  if (!stream->last->is_over) return cudaErrorNotReady;
  machine().scheduler().wait_for(stream->last);
  return state();
}
cudaError_t cudaDeviceSynchronize() {
  const Call call("cudaDeviceSynchronize");
  if (const cudaError_t error = refuse_in_capture("cudaDeviceSynchronize")) return error;
  machine().scheduler().wait_for_all(current_device());
  return state();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle,
                                unsigned /*flags*/) {
  const Call call("cudaStreamWaitEvent");
  if (const cudaError_t asked = asked_failure("cudaStreamWaitEvent")) return asked;
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(stream_handle, error);
  if (stream == nullptr) return error;
  const Event* event = event_of(event_handle, error);
  return event == nullptr ? error : wait_for_event(*stream, *event);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  const Call call("cudaEventCreateWithFlags");
  auto* event = new Event;
  event->device = current_device();
  event->has_time = (flags & cudaEventDisableTiming) == 0;
  machine().events().insert(event);
  *handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  const Call call;
  cudaError_t error = cudaSuccess;
  Event* event = event_of(handle, error);
  if (event == nullptr) return error;
  machine().events().erase(event);
  delete event;
  return state();
}
cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t stream_handle) {
  const Call call("cudaEventRecord");
  if (const cudaError_t asked = asked_failure("cudaEventRecord")) return asked;
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(stream_handle, error);
  if (stream == nullptr) return error;
  Event* event = event_of(event_handle, error);
  if (event == nullptr) return error;
  if (event->device != stream->device)
    return fail(cudaErrorInvalidResourceHandle,
                text("cudaEventRecord: the event belongs to device ", event->device,
                     ", the stream to device ", stream->device));
  event->recorded = machine().streams().push(*stream, "cudaEventRecord", nullptr);
  return state();
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned /*flags*/) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const Call call("cudaEventSynchronize");
  cudaError_t error = cudaSuccess;
  const Event* event = event_of(handle, error);
  if (event == nullptr) return error;
  if ((error = refuse_captured(*event, "cudaEventSynchronize")) != cudaSuccess) return error;
  machine().scheduler().wait_for(event->recorded);
  return state();
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const Call call("cudaEventQuery");
  cudaError_t error = cudaSuccess;
  const Event* event = event_of(handle, error);
  if (event == nullptr) return error;
  if ((error = refuse_captured(*event, "cudaEventQuery")) != cudaSuccess) return error;
  if (!event->recorded) return cudaSuccess;
  machine().scheduler().advance();
  if (!event->recorded->is_over) return cudaErrorNotReady;
  machine().scheduler().wait_for(event->recorded);
  return state();
}
/// By a clock that counts operations, a microsecond each: an emulated device has no speed. Where
/// operations are observed it is the clock by which they are.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin_handle,
                                 cudaEvent_t end_handle) {
  const Call call;
  cudaError_t error = cudaSuccess;
  const Event* begin = event_of(begin_handle, error);
  if (begin == nullptr) return error;
  const Event* end = event_of(end_handle, error);
  if (end == nullptr) return error;
  if (begin->device != end->device)
    return fail(cudaErrorInvalidResourceHandle,
                text("cudaEventElapsedTime: the events belong to devices ", begin->device, " and ",
                     end->device));
  for (const Event* event : {begin, end}) {
    if ((error = refuse_captured(*event, "cudaEventElapsedTime")) != cudaSuccess) return error;
    if (!event->has_time || !event->recorded) return fail(cudaErrorInvalidResourceHandle);
    if (!event->recorded->is_over) return fail(cudaErrorNotReady);
  }
  if (begin->recorded->end != 0 && end->recorded->end != 0) {
    const auto nanoseconds = static_cast<std::int64_t>(end->recorded->end - begin->recorded->end);
    *milliseconds = static_cast<float>(static_cast<double>(nanoseconds) * 1e-6);
    return cudaSuccess;
  }
  *milliseconds =
      static_cast<float>((end->recorded->microseconds - begin->recorded->microseconds) * 1e-3);
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)
