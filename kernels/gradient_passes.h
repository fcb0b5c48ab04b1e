#pragma once

#include "src/base/size.h"

namespace ptbench {

/// What loss scaling asks of a gradient arena.
class GradientPasses {
 public:
  virtual ~GradientPasses() = default;
  /// Whether every element of `slice` is finite.
  [[nodiscard]] virtual bool finite(Range slice) = 0;
};

}  // namespace ptbench
