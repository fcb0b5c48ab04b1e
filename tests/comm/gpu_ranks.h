#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "src/comm/communicator.h"
#include "src/comm/control_channel.h"
#include "src/device/device.h"

namespace ptbench::testing {

/// What a rank has to do with: its GPU, and NCCL's communicator over the memory there.
struct GpuRank {
  Device& device;
  const KernelBackend& backend;  ///< of the device
  Communicator& communicator;
  ControlChannel& control;
};

/// Ranks that are threads of this process, each on a GPU of its own, which they keep from one world
/// to the next.
class GpuRanks {
 public:
  GpuRanks();
  ~GpuRanks();
  GpuRanks(const GpuRanks&) = delete;
  GpuRanks& operator=(const GpuRanks&) = delete;

  /// As CommunicatorFactory::run: of values in memory of the host.
  [[nodiscard]] std::vector<std::exception_ptr> failures(
      Size world_size, const std::function<void(Communicator&)>& body);
  /// The same, of values on the devices.
  [[nodiscard]] std::vector<std::exception_ptr> failures_on_devices(
      Size world_size, const std::function<void(GpuRank)>& body);

 private:
  class Driven;
  std::vector<std::unique_ptr<Driven>> driven_;  ///< by rank
};

}  // namespace ptbench::testing
