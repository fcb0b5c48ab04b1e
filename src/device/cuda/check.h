#pragma once

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

namespace ptbench {

/// "memory.cpp:12", for messages: without the folders of the machine that built it.
[[nodiscard]] std::string place_of(const std::source_location& where);

/// Throws a run error that names `call`, what CUDA says of it and the place in the source, unless
/// `result` is success. Errors that do not stick to the device are cleared.
void check_cuda(cudaError_t result, const char* call,
                std::source_location where = std::source_location::current());

/// The same for destructors: logs instead of throwing.
void note_cuda(cudaError_t result, const char* call,
               std::source_location where = std::source_location::current()) noexcept;

}  // namespace ptbench

// Every call of the CUDA runtime stands in one of these.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function does not see the text of its argument.
#define PTBENCH_CUDA(call) ::ptbench::check_cuda((call), #call)
#define PTBENCH_CUDA_NOTE(call) ::ptbench::note_cuda((call), #call)
/// After the launch of a kernel.
#define PTBENCH_CUDA_LAUNCHED(kernel) \
  ::ptbench::check_cuda(cudaGetLastError(), "launch of " #kernel)
// NOLINTEND(cppcoreguidelines-macro-usage)
