#include "app/collectives/comm_rank.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda_module.h"
#include "kernels/site.h"
#include "src/comm/control_channel.h"
#include "src/device/host_device.h"

namespace ptbench {
namespace {

/// Where a rank's values lie.
struct CommDevice {
  CommDevice(const CommOptions& options, bool on_gpus) {
    if (on_gpus) site = CudaModule(options.device).open();
  }
  [[nodiscard]] Device& get() { return site.device ? *site.device : host; }

  HostDevice host;
  Site site;
};

}  // namespace

bool is_on_gpus(const CommOptions& options, const std::string& communicator) {
  const auto rows = communicator_catalog();
  const auto row = std::ranges::find(rows, communicator, &CommunicatorRow::name);
  const bool needs_them = row != rows.end() && row->on_gpus;
  return options.device.starts_with("cuda") || (needs_them && options.device == "auto");
}

std::vector<CommMeasurement> measure_with(const CommunicatorRow& row, const CommOptions& options,
                                          const SharedRegion* region, const CommFollower& follower,
                                          RanksApart* apart) {
  const bool on_gpus = is_on_gpus(options, row.name);
  CommDevice where(options, on_gpus);
  Device& device = where.get();
  RankCommunicators communicators = row.make({.memory = device.memory(),
                                              .region = region,
                                              .rank = options.rank,
                                              .device = on_gpus ? &device : nullptr,
                                              .timeout = plan_of(options).timeout,
                                              .interface = options.interface,
                                              .apart = apart});
  ControlChannel control(std::move(communicators.control));
  return measure_collectives(
      {.device = device, .communicator = *communicators.data, .control = control}, plan_of(options),
      follower);
}

}  // namespace ptbench
