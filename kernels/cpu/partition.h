#pragma once

#include <algorithm>

#include "kernels/tensor.h"
#include "src/base/size.h"

namespace ptbench {

/// How many members a job of `work` simple operations is worth: waking one costs about as much as
/// 16 Ki of them.
[[nodiscard]] constexpr int members_for(Size work, int team_size) {
  constexpr Size kWorthWaking = Size{1} << 14U;
  return static_cast<int>(std::clamp<Size>(work / kWorthWaking, 1, team_size));
}

/// As above for a job that is shared by whole samples.
[[nodiscard]] constexpr int members_for(Size work, Size batch, int team_size) {
  return static_cast<int>(std::clamp<Size>(batch, 1, members_for(work, team_size)));
}

/// How a team shares a tensor's elements, padding included: native tensors by samples, as every
/// operator on images does, so that a sample stays in its member's caches; plain ones by vectors.
class ElementPartition {
 public:
  /// `cost`: simple operations that one element is worth.
  ElementPartition(const TensorSpec& tensor, Size cost, int team_size);

  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] Range part(int member) const;

 private:
  Size elements_;
  Size unit_;  ///< elements that stay together
  int members_;
};

}  // namespace ptbench
