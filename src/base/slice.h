#pragma once

#include <cstddef>
#include <span>

#include "src/base/size.h"

namespace ptbench {

/// The elements of `all` that `range`, which lies in it, names.
template <class T>
[[nodiscard]] std::span<T> slice_of(std::span<T> all, Range range) {
  return all.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

}  // namespace ptbench
