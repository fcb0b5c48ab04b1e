#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "src/base/size.h"

namespace ptbench {

/// Dimensions of a tensor or of one input sample, outermost first, at most six; a value without
/// heap memory.
class Shape {
 public:
  static constexpr std::size_t kMaximumRank = 6;

  Shape() = default;
  Shape(std::initializer_list<Size> dimensions);
  explicit Shape(std::span<const Size> dimensions);

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] Size operator[](std::size_t axis) const { return dimensions_.at(axis); }
  [[nodiscard]] std::span<const Size> dimensions() const { return {dimensions_.data(), rank_}; }
  /// Product of the dimensions; 1 for rank 0.
  [[nodiscard]] Size elements() const;
  /// "3x32x32".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<Size, kMaximumRank> dimensions_{};
  std::size_t rank_ = 0;
};

}  // namespace ptbench
