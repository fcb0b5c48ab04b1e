#pragma once

#include <string>

#include "src/base/size.h"

namespace ptbench {

/// A collective as `ptbench comm --json` measured it.
struct CollectiveRecord {
  std::string collective;  ///< "all_reduce"
  std::string communicator;
  Size ranks = 1;
  Bytes bytes = 0;     ///< of the message, by nccl-tests' count
  double seconds = 0;  ///< median over calls of the slowest rank's time
  Size wrong = 0;      ///< values that were not what they should be
};

}  // namespace ptbench
