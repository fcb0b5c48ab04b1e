#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "src/base/clock.h"
#include "src/device/memory.h"

namespace ptbench {

/// Which candidate each operator uses: key_of(spec) → candidate. A value: broadcast, cached, saved.
using Choices = std::map<std::string, std::string>;

/// Times the candidates of every operator in `specs` that `known` has no choice for, on
/// real-looking data, forward, backward and update in turn, and returns the choices of all.
/// `keep_going` is asked between candidates; false ends with the best so far.
[[nodiscard]] Choices choose(const KernelBackend& backend, const std::vector<OperatorSpec>& specs,
                             const Choices& known, MemorySource& memory, const Clock& clock,
                             const std::function<bool()>& keep_going);

}  // namespace ptbench
