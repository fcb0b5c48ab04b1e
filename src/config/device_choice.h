#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/config/run_config.h"
#include "strategies/catalog.h"
#include "workloads/catalog.h"

namespace ptbench {

/// Where the replicas of a run compute.
struct ChosenDevice {
  std::string id = "cpu";                ///< or "cuda:0": this rank's, or the first replica's
  std::vector<std::string> of_replicas;  ///< of each rank or replica; empty for the CPU
  std::vector<std::string> rank_hosts;   ///< whose device that is, by rank; empty: one's
  std::string name;                      ///< its maker's; empty for the CPU
  Bytes memory_bytes = 0;                ///< of its own; 0 for the CPU
  std::string compute_capability;        ///< of a GPU: "9.0"
  /// A program that behaves like a device, for tests: it computes, and how long that takes says
  /// nothing.
  bool is_emulated = false;

  [[nodiscard]] bool is_cpu() const { return id == "cpu"; }
  /// "cpu", "cuda:0", "cuda:0+1": those of all, each once.
  [[nodiscard]] std::string text() const;
  /// Replicas of the device that has the most of them on any host; 1 where each has its own.
  [[nodiscard]] Size most_replicas() const;
  /// Of that replica.
  [[nodiscard]] const std::string& of_replica(Size replica) const {
    return is_cpu() ? id : of_replicas.at(static_cast<std::size_t>(replica));
  }
};

/// "cpu", "cuda", "auto", or "cuda:" and indices separated by '+'.
[[nodiscard]] bool is_device(std::string_view text);

/// The GPUs of so many ranks or replicas, as --device says: those that it lists, or the first ones.
/// Throws capability errors where there are not as many, or not alike, and a usage error where more
/// are listed. `may_share`: replicas may share a GPU, as tests do.
[[nodiscard]] std::vector<std::string> gpus_of_replicas(const std::string& device, Size wanted,
                                                        bool may_share);

/// Ranks or replicas that --device stands for by itself, where it lists several: "cuda:0+1" is two;
/// else 1.
[[nodiscard]] Size devices_listed(const std::string& device);

/// What --device stands for: with several ranks or replicas, `cuda` is the first so many GPUs, of
/// which a rank takes the one of its local rank, as it takes that one of those that are listed.
/// `auto` is a GPU where there is a driver for one, a device, and an engine that computes all that
/// the run asks for, and else the CPU. Throws capability errors that name what is missing of a
/// device that was asked for by name (module, library, driver, device, precision, operator, NCCL,
/// as many GPUs, alike ones), and a usage error where an emulated device would have to be timed.
[[nodiscard]] ChosenDevice choose_device(const RunOptions& options, const StrategyRow& strategy,
                                         const Workload& workload);

}  // namespace ptbench
