#include "strategies/serial.h"

namespace ptbench {

StrategyRow amp_strategy() {
  StrategyRow row = serial_strategy();
  row.name = "amp";
  row.summary = "serial in mixed precision: the device's best narrow type, fp32 master weights";
  row.mixed_precision = true;
  return row;
}

}  // namespace ptbench
