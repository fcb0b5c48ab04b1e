#include <cstring>

#include "tests/cuda_emulator/cases/case.h"

/// ptbench_emulator_cases NAME [faulty]; without a name, the names.
int main(int argc, char** argv) {
  using namespace ptbench::emulator::cases;
  const bool faulty = argc > 2 && std::strcmp(argv[2], "faulty") == 0;
  for (const auto table :
       {memory_cases, block_cases, thread_cases, stream_cases, product_cases, workspace_cases,
        convolution_cases, convolution_fault_cases, plan_text_cases, device_cases})
    for (const Case& entry : table()) {
      if (argc < 2)
        std::puts(entry.name);
      else if (std::strcmp(entry.name, argv[1]) == 0)
        return entry.run(faulty) ? 0 : 1;
    }
  return argc < 2 ? 0 : 2;
}
