#pragma once

#include <optional>

namespace ptbench {

/// How busy somebody else keeps the machine's cores, from its making until it is asked.
class CpuLoad {
 public:
  CpuLoad();
  /// Share of the machine's CPU time that neither this process used nor was idle (steal counts);
  /// 0 to 1. Empty where /proc/stat cannot be read, or less than 50 ms passed: the kernel counts in
  /// ticks of 10 ms.
  [[nodiscard]] std::optional<double> foreign_share() const;

 private:
  struct Times {
    double total = 0;  ///< seconds of all cores
    double busy = 0;   ///< of them not idle
    double own = 0;    ///< of this process
  };
  [[nodiscard]] static std::optional<Times> read();

  std::optional<Times> begin_;
};

}  // namespace ptbench
