#pragma once

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/operation.h"

namespace ptbench::emulator {

/// Tells an observer (CUPTI's shadow) which calls are made, and what the devices do for them.
///
/// Nothing takes time on these devices. So that what is told is in an order that a device could
/// have had, whenever the emulation did it: an operation begins when it is asked for and all before
/// it are over, and lasts ten nanoseconds.
class Observation {
 public:
  void observe(const ptbench_emulator_observer* observer) { observer_ = observer; }

  /// A call that gives work or waits; returns what end_call is to be given. Calls may nest.
  struct Open {
    U32 correlation = 0;  ///< 0: nobody observes
    U32 outer = 0;
    U64 begin = 0;
  };
  [[nodiscard]] Open begin_call();
  void end_call(const Open& open, const char* name, bool of_driver);

  void asked(Operation& operation) const;
  void done(const Operation& operation) const;

 private:
  const ptbench_emulator_observer* observer_ = nullptr;
  U32 calls_ = 0;
  U32 correlation_ = 0;  ///< of the call that is being made
};

/// The process's only one.
[[nodiscard]] Observation& observation();

}  // namespace ptbench::emulator
