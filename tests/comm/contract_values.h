#pragma once

#include <span>
#include <vector>

#include "src/comm/communicator.h"

namespace ptbench::testing {

/// Where an operation's values lie.
class Placed {
 public:
  Placed(Communicator& communicator, bool in_place, Size count) {
    // Not at the start of a line, as parts of arenas are not.
    constexpr Size kShift = 3;
    if (in_place)
      buffer_ = communicator.memory().allocate(static_cast<Bytes>(count + kShift) * sizeof(float),
                                               "values");
    else
      vector_.resize(static_cast<std::size_t>(count + kShift));
    all_ = in_place ? buffer_.as<float>() : std::span<float>(vector_);
    all_ = all_.subspan(static_cast<std::size_t>(kShift), static_cast<std::size_t>(count));
  }

  [[nodiscard]] std::span<float> span() { return all_; }
  [[nodiscard]] std::vector<float> copy() const { return {all_.begin(), all_.end()}; }

 private:
  Buffer buffer_;
  std::vector<float> vector_;
  std::span<float> all_;
};

/// No value_of is larger.
inline constexpr float kLargestValue = 10'006 * 0.0137F;

/// Different on each rank and at each index, with bits below bf16's.
inline float value_of(Size rank, Size index) {
  const Size mixed = (index * 7919 + rank * 104729) % 20011;
  return static_cast<float>(mixed - 10005) * 0.0137F;
}

inline void fill(std::span<float> values, Size rank) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(rank, static_cast<Size>(i));
}

}  // namespace ptbench::testing
