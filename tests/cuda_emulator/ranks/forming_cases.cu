#include "tests/cuda_emulator/ranks/ranks.h"

namespace ptbench::emulator::cases {

std::vector<Case> forming_cases() { return {}; }

}  // namespace ptbench::emulator::cases
