#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/cuda_emulator/device/operation.h"
#include "tests/cuda_emulator/device/settings.h"

namespace ptbench::emulator {

/// Does operations, one at a time and only when somebody waits, in the least convenient order that
/// streams and events allow. Knows which operations are ordered by what was asked, whatever the
/// order in which they ran.
class Scheduler {
 public:
  /// Called around the doing of operations.
  struct Surroundings {
    std::function<void()> before;
    std::function<void()> after;
  };
  Scheduler(Order order, Surroundings surroundings)
      : order_(order), surroundings_(std::move(surroundings)) {}

  /// Adds an operation whose `stream`, `count` and `after` are filled in. It begins after what the
  /// host knows to be over.
  void add(const OperationPtr& operation);
  /// Does operations until this one is over; the host knows then that it is.
  void wait_for(const OperationPtr& operation);
  /// All of them.
  void wait_for_all();
  /// Does one operation that may be done: somebody asks whether the device gets on.
  void advance();

  /// While it is being done; else null.
  [[nodiscard]] const Operation* running() const { return running_; }
  /// Whether the operation with that number is ordered before the running one.
  [[nodiscard]] bool is_before_running(U32 number) const;
  [[nodiscard]] const std::string& name_of(U32 number) const { return infos_[number].what; }
  /// Whether the host has waited for it.
  [[nodiscard]] bool is_known_over(const Operation& operation) const;

 private:
  struct Info {
    U32 stream;
    U32 count;
    std::string what;
  };
  void step();

  Order order_;
  Surroundings surroundings_;
  std::map<U32, OperationPtr> ready_;  ///< by number
  std::size_t pending_ = 0;
  std::vector<Info> infos_{{}};  ///< by number
  Clock host_clock_;
  Clock asked_for_;  ///< everything that was added
  const Operation* running_ = nullptr;
  double microseconds_ = 0;
};

}  // namespace ptbench::emulator
