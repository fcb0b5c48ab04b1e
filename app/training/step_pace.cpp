#include "app/training/step_pace.h"

#include <algorithm>
#include <utility>

namespace ptbench {
namespace {

constexpr double kPieceSeconds = 0.01;

}  // namespace

void StepPace::add(Size steps, double step_seconds) {
  const Size done = steps - std::exchange(steps_, steps);
  steps_of_piece_ += done;
  piece_seconds_ += static_cast<double>(done) * step_seconds;
  if (piece_seconds_ < kPieceSeconds) return;
  keep(piece_seconds_ / static_cast<double>(steps_of_piece_));
  steps_of_piece_ = 0;
  piece_seconds_ = 0;
}

void StepPace::keep(double value) {
  if (until_next_ > 0) {
    --until_next_;
    return;
  }
  if (count_ == kept_.size()) {  // every second one stays
    count_ /= 2;
    for (std::size_t index = 0; index < count_; ++index) kept_.at(index) = kept_.at(2 * index);
    stride_ *= 2;
  }
  kept_.at(count_++) = value;
  until_next_ = stride_ - 1;
}

std::optional<double> StepPace::step_seconds() const {
  if (count_ == 0) return std::nullopt;
  auto sorted = kept_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count_));
  return *middle;
}

}  // namespace ptbench
