#pragma once

#include <csignal>

namespace ptbench {

/// Turns SIGINT, SIGTERM and SIGHUP into a question that the program asks when it suits it: no
/// handler runs in the middle of anything, and what was measured can be saved. The signals stay
/// blocked in the calling thread and in all threads that it makes while the watch exists, so it
/// must be made before any of them. Programs that are started meanwhile inherit the block.
///
/// After a SIGHUP, what would go to a terminal that is gone goes nowhere.
///
/// A signal that was ignored when the watch was made (as shells do for jobs in the background,
/// and nohup) stays ignored.
class InterruptWatch {
 public:
  InterruptWatch();
  /// Lets the signals through again. One that came after the last question then ends the process.
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Whether one has come since the watch was made. A system call of some 0.1 µs; by one thread at
  /// a time.
  [[nodiscard]] bool requested();

 private:
  sigset_t watched_{};
  sigset_t before_{};
  bool requested_ = false;
};

}  // namespace ptbench
