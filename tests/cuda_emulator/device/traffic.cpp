#include "tests/cuda_emulator/device/traffic.h"

#include <map>
#include <string>

#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {

void Traffic::add(U32 operation, bool writes) {
  if (of_operations_.size() <= operation) of_operations_.resize(operation + 1);
  Words& words = of_operations_[operation];
  ++(writes ? words.written : words.read);
}

void Traffic::tell(const Scheduler& scheduler) const {
  constexpr U64 kBytesOfWord = 4;
  struct Total {
    U64 operations = 0;
    Words words;
  };
  std::map<std::string, Total> totals;
  for (U32 number = 0; number < of_operations_.size(); ++number) {
    const Words& words = of_operations_[number];
    if (words.read == 0 && words.written == 0) continue;
    Total& total = totals[scheduler.name_of(number)];
    ++total.operations;
    total.words.read += words.read;
    total.words.written += words.written;
  }
  for (const auto& [name, total] : totals)
    remark(text("count: ", total.operations, " × ", name, ": ", total.words.read * kBytesOfWord,
                " bytes read, ", total.words.written * kBytesOfWord, " bytes written"));
}

}  // namespace ptbench::emulator
