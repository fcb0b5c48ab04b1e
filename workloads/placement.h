#pragma once

#include <span>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// Memory that is needed from one moment to another, both included.
struct Lifetime {
  Bytes bytes = 0;
  Size first = 0;
  Size last = 0;
};

/// Where each piece lies in one piece of memory: pieces whose times overlap do not overlap.
struct Placement {
  std::vector<Bytes> offsets;
  Bytes total = 0;
};

/// Places large pieces first, each at the lowest offset where it fits (greedy by size, as in
/// Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020). Offsets
/// are multiples of `alignment`. At least as large as the most that is alive at once.
[[nodiscard]] Placement place(std::span<const Lifetime> pieces, Bytes alignment);

}  // namespace ptbench
