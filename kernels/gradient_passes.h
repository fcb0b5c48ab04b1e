#pragma once

#include <span>

#include "src/base/size.h"

namespace ptbench {

/// What accumulation and loss scaling do to a gradient arena.
class GradientPasses {
 public:
  virtual ~GradientPasses() = default;
  /// slice = terms (`terms` has slice.size() elements).
  virtual void assign(Range slice, std::span<const float> terms) = 0;
  /// slice += terms.
  virtual void add(Range slice, std::span<const float> terms) = 0;
  /// Whether every element of `slice` is finite.
  [[nodiscard]] virtual bool finite(Range slice) = 0;
};

}  // namespace ptbench
