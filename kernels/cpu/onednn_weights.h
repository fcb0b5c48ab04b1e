#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/onednn.h"
#include "src/base/size.h"

namespace ptbench {

/// A rectangle of a weight tensor and where it lies: `begin` bytes from the start of the memory
/// that holds all pieces.
struct WeightPiece {
  Range outputs;
  Range inputs;
  onednn::WeightLayout layout;
  Bytes begin = 0;
};

/// A rectangle that lies in one piece of the source and in one piece of the target.
struct WeightTransfer {
  onednn::WeightLayout from;
  Bytes from_begin = 0;
  onednn::WeightLayout to;
  Bytes to_begin = 0;
  int member = 0;  ///< who carries it over
};

/// What brings the weights from the arena's layout into another: each piece of the source by its
/// owner, a single one cut among all `members`. Empty where a layout cannot be cut like that.
[[nodiscard]] std::optional<std::vector<WeightTransfer>> plan_transfers(
    std::span<const WeightPiece> from, std::span<const WeightPiece> to, int members);

/// The transfers bound to memory. Passes that want weights in another layout or type than that of
/// the arena, where the gradients' pass and the optimizer work, read copies; this refreshes them.
class WeightCopies {
 public:
  WeightCopies() = default;
  WeightCopies(const std::vector<WeightTransfer>& transfers, const void* from, std::byte* to,
               int members);
  /// This member's share.
  void refresh(int member);

 private:
  std::vector<std::vector<std::unique_ptr<onednn::Kernel>>> transfers_;  ///< of each member
};

}  // namespace ptbench
