#pragma once

#include <functional>
#include <string>

#include "kernels/backend.h"

namespace ptbench::testing {

/// Calls `check(backend, threads)` for the reference and for the CPU with 1, 2 and 3 threads (more
/// than there are cores is legal) and with every instruction set that it can fall back to. Failures
/// name the backend.
void for_each_backend(const std::function<void(const KernelBackend&, int threads)>& check);

/// The same for each candidate that a backend has for `spec`.
void for_each_candidate(const OperatorSpec& spec,
                        const std::function<void(const KernelBackend&, int threads,
                                                 const std::string& candidate)>& check);

}  // namespace ptbench::testing
