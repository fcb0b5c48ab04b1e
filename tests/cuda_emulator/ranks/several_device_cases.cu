#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {

std::vector<Case> several_device_cases() { return {}; }

}  // namespace ptbench::emulator::cases
