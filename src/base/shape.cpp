#include "src/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "src/base/error.h"

namespace ptbench {

Shape::Shape(std::initializer_list<Size> dimensions)
    : Shape(std::span<const Size>(dimensions.begin(), dimensions.size())) {}

Shape::Shape(std::span<const Size> dimensions) : rank_(dimensions.size()) {
  ensure(rank_ <= kMaximumRank, "a shape has at most six dimensions");
  std::ranges::copy(dimensions, dimensions_.begin());
}

Size Shape::elements() const {
  const auto dims = dimensions();
  return std::accumulate(dims.begin(), dims.end(), Size{1}, std::multiplies<>{});
}

std::string Shape::text() const { return fmt::format("{}", fmt::join(dimensions(), "x")); }

}  // namespace ptbench
