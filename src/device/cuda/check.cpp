#include "src/device/cuda/check.h"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {

std::string place_of(const std::source_location& where) {
  const std::string_view file = where.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), where.line());
}

namespace {

/// "cudaFree(memory): invalid argument (cudaErrorInvalidValue), memory.cpp:12".
std::string describe(cudaError_t result, const char* call, const std::source_location& where) {
  return fmt::format("{}: {} ({}), {}", call, cudaGetErrorString(result), cudaGetErrorName(result),
                     place_of(where));
}

/// Whether the device is broken for this process. Clears errors of other kinds.
bool is_broken() {
  (void)cudaGetLastError();
  return cudaPeekAtLastError() != cudaSuccess;
}

}  // namespace

void check_cuda(cudaError_t result, const char* call, std::source_location where) {
  if (result == cudaSuccess) return;
  // Work that was asked for earlier fails while others wait for it: only where every launch waits
  // is the failing one named.
  throw run_error(describe(result, call, where),
                  is_broken() ? "look for the GPU's own report in the kernel's log (dmesg, Xid); "
                                "with CUDA_LAUNCH_BLOCKING=1 in the environment and --graph off "
                                "the run names the operator that failed"
                              : "run again; if it fails again, try --device cpu");
}

void note_cuda(cudaError_t result, const char* call, std::source_location where) noexcept {
  // Of a broken device all calls fail; whoever waited for its work has said so.
  if (result == cudaSuccess || is_broken()) return;
  try {
    log_error(describe(result, call, where));
  } catch (const std::exception&) {
    return;  // without memory for a message there is nobody to tell
  }
}

}  // namespace ptbench
