#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/device/device.h"
#include "src/device/immediate_queue.h"
#include "src/device/team.h"
#include "src/device/topology.h"

namespace ptbench {

/// A set of cores with its team of pinned threads. Its memory is the host's, and its queues work at
/// once.
class CpuDevice final : public Device {
 public:
  /// `threads` members on the first cores of `topology` from `first_core` on, wrapping round when
  /// there are more threads than cores.
  CpuDevice(Topology topology, int threads, int first_core = 0);
  /// One member for each CPU number, which may be named twice.
  CpuDevice(Topology topology, std::vector<int> cpus);

  [[nodiscard]] std::string id() const override { return "cpu"; }
  [[nodiscard]] std::string name() const override { return topology_.cpu_model; }
  [[nodiscard]] Bytes memory_bytes() const override { return topology_.memory_bytes; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }
  [[nodiscard]] bool shares_memory_with_host() const override { return true; }
  [[nodiscard]] MemorySource& page_locked_memory() override { return memory_; }
  [[nodiscard]] Queue& compute() override { return queue_; }
  [[nodiscard]] Queue& transfer() override { return queue_; }
  void finish() override {}

  [[nodiscard]] int host_threads() const override { return team_.size(); }
  [[nodiscard]] std::span<const int> cpus() const override { return team_.cpus(); }
  void run_on_host(int parts, FunctionRef<void(int part)> job) override { team_.run(parts, job); }
  [[nodiscard]] DeviceConditions look() override;

  /// For the CPU's own backend.
  [[nodiscard]] Team& team() { return team_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

 private:
  Topology topology_;
  HostMemorySource memory_;
  Team team_;
  ImmediateQueue queue_{*this};
};

}  // namespace ptbench
