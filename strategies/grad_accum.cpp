#include "strategies/serial.h"

namespace ptbench {

StrategyRow grad_accum_strategy() {
  constexpr Size kMicroBatches = 4;
  StrategyRow row = serial_strategy();
  row.name = "grad-accum";
  row.summary = "serial with gradients added up over 4 micro-batches before each update";
  row.accumulation_steps = kMicroBatches;
  return row;
}

}  // namespace ptbench
