#include "src/device/cuda/runtime_compiler.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

namespace ptbench {
namespace {

constexpr int kCudaMajor = CUDART_VERSION / 1000;
constexpr int kCudaMinor = CUDART_VERSION % 1000 / 10;
/// On PyPI.
constexpr const char* kWheel = kCudaMajor < 13 ? "nvidia-cuda-nvrtc-cu12" : "nvidia-cuda-nvrtc";

/// nvrtcVersion, by an own prototype: many CUDA toolkits come without nvrtc.h.
using VersionFunction = int(int* major, int* minor);

/// Null where the library cannot be opened; `reason` then says why.
void* open_library(const std::string& name, std::string& reason) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* error = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one a thread
  reason = error == nullptr ? fmt::format("{} cannot be opened", name) : error;
  return nullptr;
}

/// "13.0"; empty where the library does not tell.
std::string version_of(void* library) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): POSIX says that it may be.
  auto* const ask = reinterpret_cast<VersionFunction*>(dlsym(library, "nvrtcVersion"));
  int major_part = 0;
  int minor_part = 0;
  if (ask == nullptr || ask(&major_part, &minor_part) != 0) return {};
  return fmt::format("{}.{}", major_part, minor_part);
}

/// NVRTC itself, and the headers of CUDA that it has in a library of its own.
void open_both(RuntimeCompiler& compiler) {
  void* library = open_library(compiler.library, compiler.reason);
  if (library == nullptr) return;
  compiler.version = version_of(library);
  if (compiler.version.empty())
    compiler.reason = fmt::format("{} does not tell its version", compiler.library);
  else
    (void)open_library(fmt::format("libnvrtc-builtins.so.{}", compiler.version), compiler.reason);
}

}  // namespace

RuntimeCompiler open_runtime_compiler() {
  RuntimeCompiler compiler;
  compiler.library = fmt::format("libnvrtc.so.{}", kCudaMajor);
  open_both(compiler);
  if (!compiler.reason.empty())
    compiler.remedy = fmt::format(
        "install NVIDIA's package cuda-nvrtc-{0}-{1}, or have pip install '{2}=={0}.{1}.*' and add "
        "the folder of its {3} to LD_LIBRARY_PATH",
        kCudaMajor, kCudaMinor, kWheel, compiler.library);
  return compiler;
}

}  // namespace ptbench
