#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/ptx/types.h"

namespace ptbench::emulator {

/// By stream: how many of its operations are known to be over. A vector clock.
using Clock = std::vector<U32>;

inline void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t stream = 0; stream < other.size(); ++stream)
    clock[stream] = std::max(clock[stream], other[stream]);
}

/// Tries to get on with something that others take part in; whether it is over.
using Attempt = std::function<bool()>;
/// Called each time that such an operation is asked for, by a stream or by a graph's launch.
using MakeAttempt = std::function<Attempt()>;

struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

/// Something that a stream does: a kernel, a copy, an event. Done later than it is asked for.
struct Operation {
  std::string what;            ///< "kernel relu", for reports
  std::function<void()> work;  ///< null: nothing is done, only waited for
  Attempt attempt;             ///< in the place of `work`: made until it is over
  MakeAttempt make_attempt;    ///< while it is captured
  /// What must be over before; kept while it is captured or pending.
  std::vector<OperationPtr> after;
  int device = 0;
  U32 stream = 0;  ///< its number
  U32 count = 0;   ///< in the stream, from 1
  U32 number = 0;  ///< of all operations, from 1
  Clock clock;     ///< what was over before, and itself
  bool is_over = false;
  bool is_captured = false;
  double microseconds = 0;  ///< when it ended, by a clock that counts operations
  ptbench_emulator_work facts;
  U32 correlation = 0;  ///< of the call that asked for it; 0: nobody observes
  U64 begin = 0;        ///< as it is told; 0: nobody observes
  U64 end = 0;
  U32 missing = 0;  ///< how many of `after` are pending
  std::vector<OperationPtr> followers;
};

}  // namespace ptbench::emulator
