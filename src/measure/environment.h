#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/device/topology.h"

namespace ptbench {

struct HostRecord {
  std::string name;
  std::optional<std::string> os;      ///< "Debian GNU/Linux 12 (bookworm)"
  std::optional<std::string> kernel;  ///< release
};

struct CpuRecord {
  std::optional<std::string> model;
  std::optional<Size> cores;     ///< that this process may use
  std::vector<std::string> isa;  ///< extensions: "avx2", "avx512f", …
};

struct DeviceRecord {
  std::string id;  ///< "cpu", "cuda:0"
  std::optional<std::string> name;
  std::optional<Bytes> memory_bytes;
};

/// Where a result was measured: what may explain a difference between two results.
struct EnvironmentRecord {
  HostRecord host;
  CpuRecord cpu;
  std::optional<Bytes> memory_bytes;
  std::vector<DeviceRecord> devices;
  std::map<std::string, std::string> libraries;  ///< name → version
  std::map<std::string, std::string> variables;  ///< allow-listed, see measured_variables()
};

/// Host, CPU, memory and variables of this process; devices and libraries are the caller's to add.
[[nodiscard]] EnvironmentRecord describe_environment(const Topology& topology);

/// The variables of `environment` ("NAME=value" each, ended by a null pointer, as in environ(7))
/// that change what is measured and carry no secrets; names and values as valid UTF-8.
[[nodiscard]] std::map<std::string, std::string> measured_variables(const char* const* environment);

/// PRETTY_NAME of an os-release file (os-release(5)), unquoted; empty if it has none.
[[nodiscard]] std::optional<std::string> os_pretty_name(std::string_view os_release);

/// "2025-06-30T12:34:56Z".
[[nodiscard]] std::string rfc3339_utc(std::chrono::system_clock::time_point time);
/// What `rfc3339_utc` wrote; empty for any other text, also for dates and times with an offset.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_rfc3339(std::string_view text);

}  // namespace ptbench
