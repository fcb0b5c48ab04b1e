// What all calls of the runtime share; errors and devices.
#include "tests/cuda_emulator/runtime/call.h"

#include <algorithm>
#include <array>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/device/settings.h"

namespace ptbench::emulator {
namespace {

/// Of the calling thread, as the runtime has it.
cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}
int& device_of_thread() {
  thread_local int device = 0;
  return device;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
/// Those that the shadow returns.
constexpr std::array kErrors{
    ErrorText{cudaSuccess, "cudaSuccess", "no error"},
    ErrorText{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    ErrorText{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    ErrorText{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
              "invalid configuration argument"},
    ErrorText{cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    ErrorText{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
              "invalid copy direction for memcpy"},
    ErrorText{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
              "invalid device function"},
    ErrorText{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    ErrorText{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
              "invalid resource handle"},
    ErrorText{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    ErrorText{cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
              "peer access is already enabled"},
    ErrorText{cudaErrorTooManyPeers, "cudaErrorTooManyPeers", "peer mapping resources exhausted"},
    ErrorText{cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
              "peer access has not been enabled"},
    ErrorText{cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
              "part or all of the requested memory range is already mapped"},
    ErrorText{cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
              "pointer does not correspond to a registered memory region"},
    ErrorText{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    ErrorText{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
              "operation not permitted when stream is capturing"},
    ErrorText{cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
              "operation failed due to a previous error during capture"},
    ErrorText{cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
              "capture was not ended in the same stream as it began"},
    ErrorText{cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
              "capturing stream has unjoined work"},
    ErrorText{cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
              "dependency created on uncaptured work in another stream"},
    ErrorText{cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
              "operation would make the legacy stream depend on a capturing blocking stream"},
    ErrorText{cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
              "operation not permitted on an event last recorded in a capturing stream"},
    ErrorText{cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
              "an illegal memory access was encountered"},
    ErrorText{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
              "CUDA driver version is insufficient for CUDA runtime version"},
    ErrorText{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"}};

const ErrorText& text_of(cudaError_t error) {
  const auto* found = std::ranges::find(kErrors, error, &ErrorText::error);
  return found == kErrors.end() ? kErrors.back() : *found;
}

}  // namespace

cudaError_t fail(cudaError_t error) {
  if (error != cudaSuccess) last_error() = error;
  return error;
}

cudaError_t fail(cudaError_t error, const std::string& why) {
  remark(text(why, ": ", text_of(error).name));
  return fail(error);
}

cudaError_t state() { return machine().is_broken() ? fail(cudaErrorIllegalAddress) : cudaSuccess; }

cudaError_t asked_failure(const char* call) {
  return machine().must_fail(call) ? fail(cudaErrorUnknown) : cudaSuccess;
}

int current_device() { return device_of_thread(); }

Stream* stream_of(cudaStream_t handle, cudaError_t& error) {
  return stream_of(handle, current_device(), error);
}

Stream* stream_of(cudaStream_t handle, int device, cudaError_t& error) {
  error = cudaSuccess;
  if (handle == cudaStreamPerThread) {
    error = fail(cudaErrorNotSupported, "cudaStreamPerThread is not emulated");
    return nullptr;
  }
  Stream* stream = machine().streams().find(handle, device);
  if (stream == nullptr)
    error = fail(cudaErrorInvalidResourceHandle, "a stream is used that does not exist");
  return stream;
}

cudaError_t spoil_capture(Stream& stream, cudaError_t error, const std::string& why) {
  stream.capture->is_invalid = true;
  return fail(error, text("capture: ", why, " while stream ", stream.number, " is captured"));
}

cudaError_t refuse_in_capture(const char* call) {
  Stream* stream = machine().streams().forbidding_capture();
  return stream == nullptr ? cudaSuccess
                           : spoil_capture(*stream, cudaErrorStreamCaptureUnsupported, call);
}

namespace {

/// Null after setting `error`: nothing can be asked of this stream of `device` now.
Stream* usable_stream(cudaStream_t handle, const std::string& what, int device, bool own_device,
                      cudaError_t& error) {
  Stream* stream = stream_of(handle, device, error);
  if (stream == nullptr) return nullptr;
  if (own_device && stream->device != device)
    error = fail(cudaErrorInvalidResourceHandle,
                 text(what, ": stream ", stream->number, " belongs to device ", stream->device,
                      ", not to device ", device));
  else if (stream == machine().streams().find(nullptr, stream->device))
    if (Stream* capturing = machine().streams().capture_with_default(stream->device))
      error = spoil_capture(*capturing, cudaErrorStreamCaptureImplicit,
                            text(what, " on the default stream"));
  if (error == cudaSuccess && machine().is_broken()) error = state();
  return error == cudaSuccess ? stream : nullptr;
}

}  // namespace

cudaError_t enqueue(cudaStream_t handle, const std::string& what, std::function<void()> work,
                    bool own_device, ptbench_emulator_work facts) {
  cudaError_t error = cudaSuccess;
  Stream* stream = usable_stream(handle, what, current_device(), own_device, error);
  if (stream == nullptr) return error;
  const OperationPtr operation = machine().streams().push(*stream, what, std::move(work));
  operation->facts = std::move(facts);
  operation->facts.device = stream->device;
  if (settings().launches_block && !stream->capture) machine().scheduler().wait_for(stream->last);
  return state();
}

}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int ptbench_emulator_enqueue(void* stream, const char* what, const std::function<void()>& work) {
  const Call call("cuLaunchKernelEx", true);
  return enqueue(static_cast<cudaStream_t>(stream), what, work, true,
                 {.kind = ptbench_emulator_work::kernel, .name = what});
}

int ptbench_emulator_enqueue_attempt(void* stream_handle, int device, const char* what,
                                     const std::function<std::function<bool()>()>& make_attempt) {
  const Call call("cuLaunchKernelEx", true);
  cudaError_t error = cudaSuccess;
  Stream* stream =
      usable_stream(static_cast<cudaStream_t>(stream_handle), what, device, true, error);
  if (stream == nullptr) return error;
  const OperationPtr operation = machine().streams().push_attempt(*stream, what, make_attempt);
  operation->facts = {.kind = ptbench_emulator_work::kernel, .name = what, .device = device};
  return state();
}

void ptbench_emulator_advance() {
  const Call call;
  machine().scheduler().advance();
}

int ptbench_emulator_refuse_in_capture(const char* what) {
  const Call call;
  return refuse_in_capture(what);
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = std::exchange(last_error(), cudaSuccess);
  return has_machine() && state() != cudaSuccess ? state() : error;
}
cudaError_t cudaPeekAtLastError() { return last_error(); }
const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }

cudaError_t cudaGetDeviceCount(int* count) {
  if (settings().driver < CUDART_VERSION) return fail(cudaErrorInsufficientDriver);
  *count = machine().devices();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= machine().devices()) return fail(cudaErrorInvalidDevice);
  device_of_thread() = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)
