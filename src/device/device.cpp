#include "src/device/device.h"

namespace ptbench {

void finish_quietly(Device& device) noexcept {
  try {
    device.finish();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace ptbench
