#include "src/measure/precision_warning.h"

#include <fmt/format.h>

#include <utility>

namespace ptbench {

WarningRecord slower_than_fp32(const StrategyRecord& strategy, bool is_sure, std::string why) {
  // `amp` is never in fp32.
  const char* const in_fp32 = strategy.name == "amp" ? "-s serial" : "--precision fp32";
  return {.code = kSlowerThanFp32,
          .message = std::move(why),
          .remedy = is_sure ? fmt::format("Train with {} on this machine.", in_fp32)
                            : fmt::format("Measure {} too, and keep the faster one.", in_fp32)};
}

}  // namespace ptbench
