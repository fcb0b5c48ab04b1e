#include "src/device/cuda/check.h"

#include <fmt/format.h>

#include <exception>
#include <string>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

/// "cudaFree(memory): invalid argument (cudaErrorInvalidValue), src/device/cuda/memory.cpp:12".
std::string describe(cudaError_t result, const char* call, const std::source_location& where) {
  return fmt::format("{}: {} ({}), {}:{}", call, cudaGetErrorString(result),
                     cudaGetErrorName(result), where.file_name(), where.line());
}

}  // namespace

void check_cuda(cudaError_t result, const char* call, std::source_location where) {
  if (result == cudaSuccess) return;
  (void)cudaGetLastError();  // clears what is not sticky
  throw run_error(describe(result, call, where),
                  "look at the kernel's log for the GPU's own report (dmesg, Xid), and run again");
}

void note_cuda(cudaError_t result, const char* call, std::source_location where) noexcept {
  if (result == cudaSuccess) return;
  (void)cudaGetLastError();
  try {
    log_error(describe(result, call, where));
  } catch (const std::exception&) {
    return;  // without memory for a message there is nobody to tell
  }
}

}  // namespace ptbench
