#pragma once

#include <filesystem>
#include <string>

#include "src/base/error.h"
#include "src/base/install_paths.h"
#include "src/comm/communicator_catalog.h"

namespace ptbench {

/// How far NCCL can be had.
struct NcclProbe {
  bool usable = false;
  std::string state;    ///< "ready", "module absent", "library absent", …
  std::string detail;   ///< what is missing, or what was found
  std::string remedy;   ///< how to get it; empty where nothing is missing
  std::string version;  ///< of the library, "2.28.9"; empty: not known
};

/// Looks for the engine module libptbench_nccl.so in `modules`, and asks it for its library. Never
/// throws. Loads NCCL and CUDA's runtime, which a run on the CPU never does.
[[nodiscard]] NcclProbe probe_nccl(const std::filesystem::path& modules = install_paths().modules);

/// The error (exit 5) where NCCL is needed and `probe` has not found it.
[[nodiscard]] Error nccl_absent_error(const NcclProbe& probe);

/// For the row of the catalog: data travel between GPUs, and control messages between the host's
/// processes. Throws a capability error that says what is missing.
[[nodiscard]] RankCommunicators make_nccl(
    const CommunicatorSetup& setup, const std::filesystem::path& modules = install_paths().modules);

}  // namespace ptbench
