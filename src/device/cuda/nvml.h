#pragma once

#include <memory>
#include <string>

namespace ptbench {

// NVIDIA's management library (NVML), as far as it is used, by own prototypes: many CUDA toolkits
// come without nvml.h, and the library is the driver's. Source: NVML API Reference Guide.

/// nvmlReturn_t. Others come too.
enum class NvmlResult : int {
  success = 0,
  not_supported = 3,
  not_found = 6,
  insufficient_size = 7,
  function_not_found = 13,  ///< also of functions that the library does not have
};

/// nvmlDevice_t.
using NvmlDevice = struct NvmlDeviceHandle*;

/// nvmlProcessInfo_t, as functions of version 3 fill it in.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

/// nvmlProcessUtilizationSample_t; shares in percent.
struct NvmlProcessSample {
  unsigned pid;
  unsigned long long timestamp;  ///< microseconds
  unsigned multiprocessors;
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};

/// The library's functions; those that it does not have are null.
struct NvmlFunctions {
  NvmlResult (*init)() = nullptr;
  NvmlResult (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlResult result) = nullptr;
  NvmlResult (*driver_version)(char* version, unsigned length) = nullptr;
  NvmlResult (*device_by_bus_id)(const char* bus_id, NvmlDevice* device) = nullptr;
  NvmlResult (*clock)(NvmlDevice device, int type, unsigned* megahertz) = nullptr;
  NvmlResult (*temperature)(NvmlDevice device, int sensor, unsigned* celsius) = nullptr;
  NvmlResult (*clocks_event_reasons)(NvmlDevice device, unsigned long long* reasons) = nullptr;
  NvmlResult (*total_energy)(NvmlDevice device, unsigned long long* millijoules) = nullptr;
  NvmlResult (*compute_processes)(NvmlDevice device, unsigned* count,
                                  NvmlProcess* processes) = nullptr;
  NvmlResult (*process_utilization)(NvmlDevice device, NvmlProcessSample* samples, unsigned* count,
                                    unsigned long long last_seen) = nullptr;
};

/// The library, opened and initialized while this lives, or why it is not.
class Nvml {
 public:
  /// Never throws for a library that cannot be used.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Whether there is such a library at all.
  [[nodiscard]] bool found() const { return library_ != nullptr; }
  /// Why it cannot be asked, for people; empty where it can.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// "580.82.07"; empty where it does not tell.
  [[nodiscard]] std::string driver_version() const;
  /// "Not Supported", as the library says it.
  [[nodiscard]] std::string text_of(NvmlResult result) const;

  [[nodiscard]] const NvmlFunctions& functions() const { return functions_; }
  /// Calls one of functions(), or says that it is not there.
  template <class... Parameters, class... Arguments>
  [[nodiscard]] static NvmlResult call(NvmlResult (*function)(Parameters...),
                                       Arguments... arguments) {
    return function == nullptr ? NvmlResult::function_not_found : function(arguments...);
  }

 private:
  struct Close {
    void operator()(void* library) const noexcept;
  };

  std::unique_ptr<void, Close> library_;
  NvmlFunctions functions_;
  std::string reason_;
  bool initialized_ = false;
};

}  // namespace ptbench
