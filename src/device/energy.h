#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

/// Whose energy `EnergyMeter` tells, as records name it.
inline constexpr const char* kEnergySource = "RAPL: CPU packages";
/// Where devices tell their own energy (`AcceleratorConditions::joules`), of all of them together.
inline constexpr const char* kDeviceEnergySource = "NVML: GPU";

/// The energy that the CPU packages of this machine have used, as they count it themselves (RAPL,
/// through the kernel's powercap folder): whoever uses them, cores and caches, without DRAM and
/// devices. Only its making allocates. For one thread.
class EnergyMeter {
 public:
  /// `root` is where /sys is found.
  explicit EnergyMeter(const std::filesystem::path& root = "/");
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;
  EnergyMeter(EnergyMeter&& other) noexcept = default;
  EnergyMeter& operator=(EnergyMeter&& other) noexcept = delete;
  ~EnergyMeter();

  /// Why energy cannot be read here, for people; empty where it can.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// What lets it be read, in the imperative; empty where nothing does.
  [[nodiscard]] const std::string& remedy() const { return remedy_; }
  [[nodiscard]] Size packages() const { return static_cast<Size>(packages_.size()); }

  /// Counts from here.
  void begin();
  /// Joules of all packages together since `begin`, at most one wrap of each counter later, which
  /// is minutes even under full load. Empty where a counter cannot be read.
  [[nodiscard]] std::optional<double> end() const;

 private:
  struct Package {
    int file = -1;            ///< of its counter, kept open
    std::uint64_t range = 0;  ///< microjoules at which the counter begins anew; 0: not known
    std::optional<std::uint64_t> begin = std::nullopt;
  };

  void open(const std::filesystem::path& zone);
  void give_up(std::string reason, std::string remedy);

  std::vector<Package> packages_;
  std::string reason_;
  std::string remedy_;
};

}  // namespace ptbench
