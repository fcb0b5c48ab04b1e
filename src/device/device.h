#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/base/size.h"
#include "src/device/memory.h"
#include "src/device/team.h"
#include "src/device/topology.h"

namespace ptbench {

/// Something that computes training steps. Operators are planned for one device and queue their
/// work there in call order; `synchronize` waits until it is done.
class Device {
 public:
  virtual ~Device() = default;
  /// As on the command line: "cpu", "cuda:0".
  [[nodiscard]] virtual std::string id() const = 0;
  /// Its maker's name: "AMD EPYC".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Bytes memory_bytes() const = 0;
  [[nodiscard]] virtual MemorySource& memory() = 0;
  /// Waits for all queued work; a CPU has none queued.
  virtual void synchronize() = 0;
};

/// A set of cores with its team of pinned threads.
class CpuDevice final : public Device {
 public:
  /// `threads` members on the first cores of `topology` from `first_core` on, wrapping round when
  /// there are more threads than cores.
  CpuDevice(Topology topology, int threads, int first_core = 0);

  [[nodiscard]] std::string id() const override { return "cpu"; }
  [[nodiscard]] std::string name() const override { return topology_.cpu_model; }
  [[nodiscard]] Bytes memory_bytes() const override { return topology_.memory_bytes; }
  [[nodiscard]] MemorySource& memory() override { return memory_; }
  void synchronize() override {}

  [[nodiscard]] Team& team() { return team_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

 private:
  Topology topology_;
  HostMemorySource memory_;
  Team team_;
};

}  // namespace ptbench
