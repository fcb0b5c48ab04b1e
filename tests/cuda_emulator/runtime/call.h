#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <mutex>
#include <string>

#include "tests/cuda_emulator/device/machine.h"
#include "tests/cuda_emulator/device/observation.h"

namespace ptbench::emulator {

/// Held by every call of the runtime.
class Call {
 public:
  Call() : lock_(machine().mutex()) {}
  /// One that gives work, waits or allocates, which observers are told of. `of_driver`: as other
  /// libraries make it.
  explicit Call(const char* name, bool of_driver = false)
      : lock_(machine().mutex()),
        name_(name),
        of_driver_(of_driver),
        open_(observation().begin_call()) {}
  ~Call() {
    if (name_ != nullptr) observation().end_call(open_, name_, of_driver_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::lock_guard<MachineLock> lock_;
  const char* name_ = nullptr;
  bool of_driver_ = false;
  Observation::Open open_;
};

/// Keeps the error for cudaGetLastError and returns it.
cudaError_t fail(cudaError_t error);
/// The same, with a line on standard error that says why.
cudaError_t fail(cudaError_t error, const std::string& why);

/// Success, or the error that has broken the devices: no call recovers from it.
[[nodiscard]] cudaError_t state();

/// The error that the settings ask this call for; success where they do not.
[[nodiscard]] cudaError_t asked_failure(const char* call);

/// The calling thread's device.
[[nodiscard]] int current_device();

/// The stream of a handle, or null after setting `error`: there is none, or it may not be used.
[[nodiscard]] Stream* stream_of(cudaStream_t handle, cudaError_t& error);

/// The same, where the handle of the default stream means that of `device`.
[[nodiscard]] Stream* stream_of(cudaStream_t handle, int device, cudaError_t& error);

/// Gives a stream something to do. With `own_device`, it must belong to the current one.
cudaError_t enqueue(cudaStream_t handle, const std::string& what, std::function<void()> work,
                    bool own_device = true, ptbench_emulator_work facts = {});

/// For calls that no capture allows to its threads: cudaSuccess where nothing is captured, else the
/// error after making the capture invalid.
[[nodiscard]] cudaError_t refuse_in_capture(const char* call);
/// Makes what the stream captures invalid, and says why.
cudaError_t spoil_capture(Stream& stream, cudaError_t error, const std::string& why);

}  // namespace ptbench::emulator
