#pragma once

#include <string>

#include "src/base/size.h"
#include "src/config/run_config.h"
#include "strategies/catalog.h"
#include "workloads/catalog.h"

namespace ptbench {

/// Where the replicas of a run compute.
struct ChosenDevice {
  std::string id = "cpu";          ///< or "cuda:0"
  std::string name;                ///< its maker's; empty for the CPU
  Bytes memory_bytes = 0;          ///< of its own; 0 for the CPU
  std::string compute_capability;  ///< of a GPU: "9.0"
  /// A program that behaves like a device, for tests: it computes, and how long that takes says
  /// nothing.
  bool is_emulated = false;

  [[nodiscard]] bool is_cpu() const { return id == "cpu"; }
};

/// What --device stands for. `auto` is a GPU where there is a driver for one, a device, and an
/// engine that computes all that the run asks for, and else the CPU. Throws capability errors that
/// name what is missing of a device that was asked for by name (module, library, driver, device,
/// precision, operator), and a usage error where an emulated device would have to be timed.
[[nodiscard]] ChosenDevice choose_device(const RunOptions& options, const StrategyRow& strategy,
                                         const Workload& workload);

}  // namespace ptbench
