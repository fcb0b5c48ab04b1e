#include "app/collectives/comm_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/collectives/comm_tables.h"
#include "kernels/cuda_module.h"
#include "kernels/site.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/comm/control_channel.h"
#include "src/device/core_latency.h"
#include "src/device/cpu_device.h"
#include "src/device/host_device.h"
#include "src/process/output_file.h"

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

std::string cores_text(const Topology& topology) {
  const std::size_t cores = topology.cores.size();
  return fmt::format("{} core{}", cores, cores == 1 ? "" : "s");
}

std::string header_line(const Topology& topology, Size ranks, const std::string& communicator) {
  std::vector<int> cpus;
  for (const Core& core : topology.cores) cpus.push_back(core.cpu);
  const DeviceConditions cores = CpuDevice(topology, std::move(cpus)).look();
  return fmt::format(
      "{}, {}{}; {}; communicator {}\n", printable(topology.cpu_model), cores_text(topology),
      cores.has_latency && !cores.latency.disturbed
          ? fmt::format(" ({} apart: {})", format_duration(cores.latency.seconds),
                        name_of(placement_of(cores.latency.seconds)))
          : "",
      ranks == 1 ? std::string("1 rank") : fmt::format("{} ranks, processes", ranks), communicator);
}

void publish(const CommResult& result, const CommOptions& options, CommFiles& files) {
  const std::vector<CommMeasurement>& rows = result.rows;
  files.publish(rows);
  write_standard_output(options.json ? table_json(comm_json_table(rows))
                                     : result.header + "\n" + table_text(comm_text_table(rows)) +
                                           std::string(comm_columns_text()));
  Size wrong = 0;
  for (const CommMeasurement& row : rows)
    wrong += row.wrong + (row.out_of_place ? row.out_of_place->wrong : 0);
  if (wrong > 0)
    throw run_error(fmt::format("{} values are wrong", format_count(wrong)),
                    "report it, with the command");
}

void publish_beside_error(const CommResult& result, const CommOptions& options, CommFiles& files) {
  if (result.rows.empty()) return;
  try {
    publish(result, options, files);
  } catch (const Error& error) {
    log_warning(error.what());
  }
}

ExitCode end_interrupted(const CommResult& result, const CommOptions& options, CommFiles& files) {
  const Size all = std::ssize(options.communicators) * comm_rows(plan_of(options));
  const Size done = std::ssize(result.rows);
  if (done == 0) throw Error(ExitCode::interrupted, "interrupted, with nothing measured");
  std::string kept = fmt::format("interrupted after {} of {} rows, which are shown", done, all);
  if (!options.outputs.empty())
    kept += fmt::format(" and written to {}", fmt::join(options.outputs, ", "));
  publish(result, options, files);
  log_warning(kept);
  return ExitCode::interrupted;
}

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
