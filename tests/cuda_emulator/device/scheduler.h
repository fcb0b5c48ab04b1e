#pragma once

#include <functional>
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
    /// Before one that does something; attempts say themselves when they do.
    std::function<void()> before_work;
    /// When no more are done for now.
    std::function<void()> after;
    /// Lets other threads and processes get on: all that may be done waits for them.
    std::function<void()> idle;
    /// Before each operation of this device.
    std::function<void(int device)> on_device;
  };
  Scheduler(Order order, Surroundings surroundings)
      : order_(order), surroundings_(std::move(surroundings)) {}

  /// Adds an operation whose `stream`, `count` and `after` are filled in. It begins after what the
  /// host knows to be over.
  void add(const OperationPtr& operation);
  /// Does operations until this one is over; the host knows then that it is.
  void wait_for(OperationPtr operation);
  /// The same of all operations of a device.
  void wait_for_all(int device);
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
  /// What a device was asked for.
  struct Asked {
    std::size_t pending = 0;
    Clock clock;
  };
  /// Numbers of what may be done, in the order in which it is tried.
  [[nodiscard]] std::vector<U32> candidates() const;
  /// Does one operation; where all wait for others, nothing but idling.
  void step();
  /// Whether it is over then.
  [[nodiscard]] bool run(const OperationPtr& operation);
  void conclude(const OperationPtr& operation);

  Order order_;
  Surroundings surroundings_;
  std::map<U32, OperationPtr> ready_;  ///< by number
  std::vector<Info> infos_{{}};        ///< by number
  Clock host_clock_;
  std::map<int, Asked> asked_of_;  ///< by device
  const Operation* running_ = nullptr;
  double microseconds_ = 0;
};

}  // namespace ptbench::emulator
