#include "src/comm/nccl/check.h"

#include <fmt/format.h>

#include <exception>
#include <string>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/cuda/check.h"

namespace ptbench::nccl {
namespace {

/// "ncclCommDestroy(comm): invalid argument, nccl_comm.cpp:12".
std::string describe(ncclResult_t result, const char* call, const std::source_location& where) {
  return fmt::format("{}: {}, {}", call, ncclGetErrorString(result), place_of(where));
}

bool is_fine(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

}  // namespace

void check(ncclResult_t result, const char* call, std::source_location where) {
  if (is_fine(result)) return;
  throw run_error(describe(result, call, where), "set NCCL_DEBUG=WARN to have NCCL say more");
}

void note(ncclResult_t result, const char* call, std::source_location where) noexcept {
  if (is_fine(result)) return;
  try {
    log_error(describe(result, call, where));
  } catch (const std::exception&) {
    return;  // without memory for a message there is nobody to tell
  }
}

}  // namespace ptbench::nccl
