#pragma once

#include <functional>
#include <string>

#include "kernels/backend.h"

namespace ptbench::testing {

/// Whether `backend` computes `spec` on this machine. Only bf16, f16 and tf32 may be missing, only
/// on CPUs, and only by a capability error; whatever else is thrown passes on. An engine's device
/// that is tested computes everything.
[[nodiscard]] bool offers(const KernelBackend& backend, const OperatorSpec& spec);

/// Calls `check(backend, threads)` for the reference and for the CPU with 1, 2 and 3 threads (more
/// than there are cores is legal) and with every instruction set that it can fall back to; where
/// tested_device() names one, for that alone. Failures name the backend.
void for_each_backend(const std::function<void(const KernelBackend&, int threads)>& check);

/// The same for each candidate that a backend has for `spec`, where it offers it.
void for_each_candidate(const OperatorSpec& spec,
                        const std::function<void(const KernelBackend&, int threads,
                                                 const std::string& candidate)>& check);

}  // namespace ptbench::testing
