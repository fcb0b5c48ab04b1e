#pragma once

#include <span>

#include "src/base/size.h"

namespace ptbench {

/// Element-wise work on an arena besides the update, each part by its owner, and on single values.
/// Lists of slices and terms are free again when a call returns; memory, which may be another
/// device's of the same kind, once the device has done the work.
class ArenaPasses {
 public:
  virtual ~ArenaPasses() = default;
  /// slice = terms (`terms` has slice.size() elements).
  virtual void assign(Range slice, std::span<const float> terms) = 0;
  /// slice += terms, in the order of the terms (each of which has slice.size() elements).
  virtual void add(Range slice, std::span<const std::span<const float>> terms) = 0;
  /// `found` (one element, in the device's memory) = 1 where an element of one of the slices is not
  /// finite, else 0.
  virtual void find_non_finite(std::span<const Range> slices, std::span<float> found) = 0;
  /// `sum` (one element) = the sum of `terms`, in double precision and rounded once.
  virtual void add_up(std::span<const float> terms, std::span<float> sum) = 0;
};

}  // namespace ptbench
