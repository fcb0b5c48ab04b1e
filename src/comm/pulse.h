#pragma once

#include <chrono>
#include <cstdint>

namespace ptbench {

/// Of another process, as the kernel shows it in /proc/PID/stat (proc(5)).
struct ProcessState {
  char letter = '?';            ///< 'T': stopped, 'D': waits for a disk, '?': not known
  std::uint64_t cpu_ticks = 0;  ///< in user and system mode
};

[[nodiscard]] ProcessState process_state(int id);
/// Of this process, whose CPU time is without the calling thread's: who watches is not what works.
[[nodiscard]] ProcessState state_beside_this_thread();
/// Whether a signal that interrupts was sent to the process and not taken yet.
[[nodiscard]] bool has_interruption_pending(int id);
/// False where /proc is that of another PID namespace, which has other processes under the same
/// numbers.
[[nodiscard]] bool can_see_processes();

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
