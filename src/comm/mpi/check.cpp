#include "src/comm/mpi/check.h"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <filesystem>
#include <string>

#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench::over_mpi {
namespace {

/// "MPI_Test(&request, …): MPI_ERR_TRUNCATE: message truncated, mpi_library.cpp:12".
std::string describe(int result, const char* call, const std::source_location& where) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  return fmt::format("{}: {}, {}:{}", call, text.data(),
                     std::filesystem::path(where.file_name()).filename().string(), where.line());
}

}  // namespace

void check(int result, const char* call, std::source_location where) {
  if (result != MPI_SUCCESS) throw run_error(describe(result, call, where));
}

void note(int result, const char* call, std::source_location where) noexcept {
  if (result == MPI_SUCCESS) return;
  try {
    log_error(describe(result, call, where));
  } catch (const std::exception&) {
    return;  // without memory for a message there is nobody to tell
  }
}

}  // namespace ptbench::over_mpi
