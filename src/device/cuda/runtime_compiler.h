#pragma once

#include <string>

namespace ptbench {

/// NVIDIA's runtime compiler (NVRTC), with which cuDNN and cuBLASLt compile kernels.
struct RuntimeCompiler {
  std::string library;  ///< "libnvrtc.so.13": of the CUDA that the module was built with
  std::string version;  ///< "13.0"; empty where the library cannot be opened, or does not tell
  std::string reason;   ///< why nothing can be compiled, for people; empty where it can
  std::string remedy;   ///< how to get what is missing; empty where nothing is
};

/// Opens NVRTC and the library that NVRTC opens by name, from the module's folders and wherever the
/// dynamic linker looks, for the rest of the process. What is open is found by its name, so that
/// NVIDIA's libraries need no search path of their own: NVRTC has none, and looks for its second
/// library not even beside itself. Never throws for a library that cannot be opened.
[[nodiscard]] RuntimeCompiler open_runtime_compiler();

}  // namespace ptbench
