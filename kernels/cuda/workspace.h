#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/error.h"
#include "src/base/size.h"

namespace ptbench::cuda {

/// Bytes at whose multiples the workspaces of libraries begin. cuBLASLt demands it; cuDNN is given
/// the same. Allocations of the device, and with them scratch memory, begin at such multiples too.
inline constexpr Bytes kWorkspaceAlignment = 256;

/// Throws a Defect unless `workspace` has the `needed` bytes and begins where libraries want it.
inline void require_workspace(std::span<const std::byte> workspace, Bytes needed) {
  if (needed == 0) return;
  ensure(workspace.size() >= needed, "a library has the workspace that it needs");
  ensure(reinterpret_cast<std::uintptr_t>(workspace.data()) % kWorkspaceAlignment == 0,
         "a library's workspace begins at a multiple of 256 bytes");
}

}  // namespace ptbench::cuda
