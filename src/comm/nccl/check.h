#pragma once

#include <nccl.h>

#include <source_location>

namespace ptbench::nccl {

/// Throws a run error that names `call`, what NCCL says of it and the place in the source, unless
/// `result` is success, or says that it is being done in the background.
void check(ncclResult_t result, const char* call,
           std::source_location where = std::source_location::current());

/// The same for destructors: logs instead of throwing.
void note(ncclResult_t result, const char* call,
          std::source_location where = std::source_location::current()) noexcept;

}  // namespace ptbench::nccl

// Every call of NCCL stands in one of these.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): a function does not see the text of its argument.
#define PTBENCH_NCCL(call) ::ptbench::nccl::check((call), #call)
#define PTBENCH_NCCL_NOTE(call) ::ptbench::nccl::note((call), #call)
// NOLINTEND(cppcoreguidelines-macro-usage)
