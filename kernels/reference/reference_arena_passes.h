#pragma once

#include "kernels/arena_passes.h"

namespace ptbench {

/// One element after another.
class ReferenceArenaPasses final : public ArenaPasses {
 public:
  /// The arena outlives the passes.
  explicit ReferenceArenaPasses(std::span<float> arena) : arena_(arena) {}

  void assign(Range slice, std::span<const float> terms) override;
  void add(Range slice, std::span<const std::span<const float>> terms) override;
  void find_non_finite(std::span<const Range> slices, std::span<float> found) override;
  void add_up(std::span<const float> terms, std::span<float> sum) override;

 private:
  [[nodiscard]] std::span<float> part(Range slice) const;

  std::span<float> arena_;
};

}  // namespace ptbench
