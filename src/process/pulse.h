#pragma once

#include <chrono>
#include <cstdint>

#include "src/base/process_state.h"

namespace ptbench {

/// For how long one rank has shown no sign of life, from look to look.
class Pulse {
 public:
  using Duration = std::chrono::milliseconds;

  static constexpr Duration kCheckUp{250};  ///< between two looks
  /// Beyond the time that ranks have: their own deadlines speak first, as they know what was
  /// waited for.
  static constexpr Duration kPatience{1000};
  /// No interval counts for more: who watches may have been stopped itself.
  static constexpr Duration kLongestLook{1000};

  /// `worked`: operations that the rank did with others. A look after `interval`. A process of
  /// which nothing is known is taken to be alive.
  void feel(const ProcessState& state, std::uint64_t worked, Duration interval);

  [[nodiscard]] Duration silent() const { return silent_; }
  [[nodiscard]] Duration stopped() const { return stopped_; }

 private:
  std::uint64_t worked_ = 0;
  std::uint64_t cpu_ticks_ = 0;  ///< at the last sign of life
  Duration silent_{};
  Duration stopped_{};
};

}  // namespace ptbench
