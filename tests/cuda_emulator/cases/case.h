#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Small programs for the device: each runs healthy, and most have a fault on request.

namespace ptbench::emulator::cases {

/// Ends the process where a call failed that should not.
#define CASE_CHECK(CALL)                                                                   \
  do {                                                                                     \
    if (const cudaError_t error_ = (CALL); error_ != cudaSuccess) {                        \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #CALL, cudaGetErrorName(error_)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

/// Device memory of `count` elements, freed with it.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    CASE_CHECK(cudaMalloc(&at_, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CASE_CHECK(cudaMemcpy(at_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(at_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* get() const { return static_cast<T*>(at_); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(count_);
    CASE_CHECK(cudaMemcpy(values.data(), at_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t count_;
  void* at_ = nullptr;
};

class StreamOwner {
 public:
  StreamOwner() { CASE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~StreamOwner() { cudaStreamDestroy(stream_); }
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void finish() const { CASE_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class EventOwner {
 public:
  explicit EventOwner(unsigned flags = cudaEventDisableTiming) {
    CASE_CHECK(cudaEventCreateWithFlags(&event_, flags));
  }
  ~EventOwner() { cudaEventDestroy(event_); }
  EventOwner(const EventOwner&) = delete;
  EventOwner& operator=(const EventOwner&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Says what differs; true where nothing does.
template <class T>
bool same(const char* what, const std::vector<T>& got, const std::vector<T>& wanted) {
  if (got == wanted) return true;
  for (std::size_t index = 0; index < wanted.size(); ++index)
    if (!(got[index] == wanted[index])) {
      std::printf("%s: element %zu is %g, not %g\n", what, index, static_cast<double>(got[index]),
                  static_cast<double>(wanted[index]));
      break;
    }
  return false;
}

/// `run` returns whether the results were right; with a fault it may not return.
struct Case {
  const char* name;
  bool (*run)(bool faulty);
};

// One table a file.
std::vector<Case> memory_cases();
std::vector<Case> block_cases();
std::vector<Case> thread_cases();
std::vector<Case> stream_cases();
std::vector<Case> product_cases();
std::vector<Case> workspace_cases();
std::vector<Case> convolution_cases();
std::vector<Case> convolution_fault_cases();
std::vector<Case> plan_text_cases();
std::vector<Case> device_cases();

}  // namespace ptbench::emulator::cases
