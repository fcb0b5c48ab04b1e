#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"

namespace ptbench {

/// What stands between this process and a CUDA device, the first thing on the way.
enum class CudaState {
  module_absent,
  library_absent,
  module_unusable,
  abi_mismatch,
  driver_absent,
  driver_too_old,
  no_device,
  failed,
  found,
};

struct CudaDeviceInfo {
  std::string id;  ///< "cuda:0"
  std::string name;
  Bytes memory_bytes = 0;
  std::string compute_capability;  ///< "9.0"
};

struct CudaProbe {
  CudaState state = CudaState::module_absent;
  std::string detail;  ///< what is missing, or what was found
  std::string remedy;  ///< how to get it; empty when devices were found
  std::vector<CudaDeviceInfo> devices;
  std::string driver_version;   ///< newest CUDA that the driver speaks, "13.0"; empty: unknown
  std::string runtime_version;  ///< of the CUDA runtime library, "13.0"; empty: not loaded
};

/// Another device whose memory the kernels of one may read and write.
struct CudaPeer {
  std::string id;        ///< "cuda:1"
  bool atomics = false;  ///< over a link that does atomics, as NVLink; PCIe does none
  friend bool operator==(const CudaPeer&, const CudaPeer&) = default;
};

/// Where a device is plugged in.
struct CudaPlace {
  std::string pci_bus_id;  ///< "0000:3B:00.0"; empty where CUDA does not tell
  std::vector<CudaPeer> peers;
};

/// "module absent", "library absent", …
[[nodiscard]] std::string name_of(CudaState state);

/// Looks for CUDA devices through the module in `module_folder`. Never throws, and touches nothing
/// that a run on the CPU would notice.
[[nodiscard]] CudaProbe probe_cuda(const std::filesystem::path& module_folder);

/// The places of the devices that `probe`, made of the same module, has found. Never throws, and
/// leaves no device in use.
[[nodiscard]] std::vector<CudaPlace> find_cuda_places(const std::filesystem::path& module_folder,
                                                      const CudaProbe& probe);

/// Whether the driver's management library tells what CUDA devices do: clocks, heat, throttling.
struct CudaTelemetry {
  std::string state;           ///< "ready", "absent", "failed"
  std::string driver_version;  ///< "580.82.07"; empty: unknown
  std::string detail;          ///< what each device does, or what is missing
  std::string remedy;          ///< how to get it; empty where nothing is missing
};

/// Asks that library through the module in `module_folder`, in which probe_cuda found devices.
/// Never throws.
[[nodiscard]] CudaTelemetry watch_cuda(const std::filesystem::path& module_folder);

/// Whether NVIDIA's runtime compiler (NVRTC), which cuDNN needs for convolutions in bf16 and fp16,
/// can be used.
struct CudaCompiler {
  std::string state;    ///< "ready", "absent", or "failed": it is there, and lacks a part
  std::string version;  ///< "13.0"; empty: unknown
  std::string detail;   ///< why it cannot be used; empty where it can
  std::string remedy;   ///< how to get what is missing; empty where nothing is
};

/// Asks the module in `module_folder`, which needs no device for it. Never throws.
[[nodiscard]] CudaCompiler find_cuda_compiler(const std::filesystem::path& module_folder);

/// The error (exit 5) of somebody who asked for `device` where `probe` found none.
[[nodiscard]] Error cuda_absent_error(const std::string& device, const CudaProbe& probe);

}  // namespace ptbench
