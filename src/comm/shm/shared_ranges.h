#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "src/base/error.h"
#include "src/base/size.h"

namespace ptbench::shared {

/// What is taken of an area, at most `Most` ranges, first fit: memory that was used before is used
/// again before more is touched. Beside n others, a range always finds room in an area of 2 n + 1
/// of the longest, rounded up to the alignment. Holds no pointer, so that it can lie in shared
/// memory, and allocates nothing. Places are in bytes from the area's start.
template <std::size_t Most>
class TakenRanges {
 public:
  /// Empty if no gap of an area of `size` bytes is long enough, or `Most` ranges are taken.
  [[nodiscard]] std::optional<Bytes> take(Bytes length, Bytes alignment, Bytes size) {
    if (count_ == Most) return std::nullopt;
    Bytes before = 0;
    for (std::size_t at = 0; at <= count_; ++at) {
      const Bytes end = at < count_ ? ranges_[at].begin : size;
      const Bytes begin = (before + alignment - 1) / alignment * alignment;
      if (begin <= end && length <= end - begin) {
        insert(at, {.begin = begin, .end = begin + length});
        return begin;
      }
      before = ranges_[at].end;
    }
    return std::nullopt;
  }

  /// `begin` comes from `take`, and was not given back since.
  void give_back(Bytes begin) {
    const auto end = ranges_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto range = std::ranges::lower_bound(ranges_.begin(), end, begin, {}, &Taken::begin);
    ensure(range != end && range->begin == begin, "what is given back was taken");
    std::copy(range + 1, end, range);
    --count_;
  }

  /// Bytes that are taken.
  [[nodiscard]] Bytes bytes() const {
    Bytes sum = 0;
    for (std::size_t at = 0; at < count_; ++at) sum += ranges_[at].end - ranges_[at].begin;
    return sum;
  }
  [[nodiscard]] bool is_full() const { return count_ == Most; }

 private:
  struct Taken {
    Bytes begin = 0;
    Bytes end = 0;
  };

  void insert(std::size_t at, Taken taken) {
    const auto place = ranges_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = ranges_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::copy_backward(place, end, end + 1);
    *place = taken;
    ++count_;
  }

  std::size_t count_ = 0;
  std::array<Taken, Most> ranges_{};  ///< the first `count_`, in order of place
};

}  // namespace ptbench::shared
