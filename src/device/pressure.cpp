#include "src/device/pressure.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// The number after the word `key`.
std::optional<Size> keyed_number(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (Size value = 0; word == key && file >> value) return value;
  return std::nullopt;
}

/// The number at the start of a file.
std::optional<double> first_number(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

template <class Number>
void add(std::optional<Number>& sum, std::optional<Number> more) {
  if (more) sum = sum.value_or(0) + *more;
}

/// `controllers`, separated by commas, name `wanted`.
bool names(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const std::string_view name = controllers.substr(0, controllers.find(','));
    if (name == wanted) return true;
    controllers.remove_prefix(std::min(name.size() + 1, controllers.size()));
  }
  return false;
}

/// Adds the folder of `group` below `mount`, and all above it: each may have a quota. In a
/// container, `group` may be the host's name for what lies at `mount` itself.
void add_folders(const fs::path& mount, const fs::path& group, std::vector<fs::path>& folders) {
  for (fs::path path = group.relative_path(); !path.empty(); path = path.parent_path())
    folders.push_back(mount / path);
  folders.push_back(mount);
}

/// The folders of the control groups that limit this process's CPU time, the innermost first
/// (cgroups(7)): version 1 names the controller, version 2 has one line without any.
std::vector<fs::path> cpu_groups(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  const auto first_of = [](const fs::path& wanted, const fs::path& otherwise) {
    std::error_code ignored;
    return fs::is_directory(wanted, ignored) ? wanted : otherwise;
  };
  std::vector<fs::path> folders;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    // "/../x" lies outside of what this process can see.
    const std::string group =
        line.find("..") == std::string::npos ? line.substr(second + 1) : std::string();
    if (controllers.empty()) add_folders(first_of(mounts / "unified", mounts), group, folders);
    if (names(controllers, "cpu"))
      add_folders(first_of(mounts / controllers, mounts / "cpu"), group, folders);
  }
  return folders;
}

void read_throttling(const fs::path& root, Pressure& pressure) {
  for (const fs::path& folder : cpu_groups(root)) {
    const fs::path file = folder / "cpu.stat";
    add(pressure.throttled_periods, keyed_number(file, "nr_throttled"));
    if (const auto microseconds = keyed_number(file, "throttled_usec"))  // version 2
      add<double>(pressure.throttled_seconds, 1e-6 * static_cast<double>(*microseconds));
    if (const auto nanoseconds = keyed_number(file, "throttled_time"))  // version 1
      add<double>(pressure.throttled_seconds, 1e-9 * static_cast<double>(*nanoseconds));
  }
}

bool is_cpu_folder(const std::string& name) {
  return name.size() > 3 && name.starts_with("cpu") &&
         std::isdigit(static_cast<unsigned char>(name[3])) != 0;
}

std::optional<Size> thermal_throttles(const fs::path& root) {
  std::optional<Size> sum;
  std::error_code error;
  for (fs::directory_iterator at(root / "sys/devices/system/cpu", error), end; !error && at != end;
       at.increment(error))
    if (is_cpu_folder(at->path().filename().string()))
      if (const auto count = first_number(at->path() / "thermal_throttle/core_throttle_count"))
        add(sum, std::optional(static_cast<Size>(*count)));
  return sum;
}

std::optional<Bytes> swapped_bytes(const fs::path& root) {
  const fs::path file = root / "proc/vmstat";
  const auto in = keyed_number(file, "pswpin");
  const auto out = keyed_number(file, "pswpout");
  if (!in || !out) return std::nullopt;
  return static_cast<Bytes>(*in + *out) * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

std::optional<Bytes> own_swap_bytes(const fs::path& root) {
  const auto kibibytes = keyed_number(root / "proc/self/status", "VmSwap:");
  if (!kibibytes) return std::nullopt;
  return static_cast<Bytes>(*kibibytes) * 1024;
}

/// Counters of a CPU or group that went away may run backwards.
template <class Number>
std::optional<Number> grown(std::optional<Number> begin, std::optional<Number> end) {
  if (!begin || !end) return std::nullopt;
  return *end > *begin ? *end - *begin : Number{0};
}

/// Version 2: "max 100000" or "150000 100000", in µs. Version 1: a file each, -1 for no limit.
std::optional<double> quota_of(const fs::path& group) {
  double quota = 0;
  double period = 0;
  if (std::ifstream file(group / "cpu.max"); file >> quota >> period && period > 0)
    return quota / period;
  quota = first_number(group / "cpu.cfs_quota_us").value_or(0);
  period = first_number(group / "cpu.cfs_period_us").value_or(0);
  if (quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

}  // namespace

Pressure read_pressure(const fs::path& root) {
  Pressure pressure;
  read_throttling(root, pressure);
  pressure.thermal_throttles = thermal_throttles(root);
  pressure.swapped_bytes = swapped_bytes(root);
  pressure.own_swap_bytes = own_swap_bytes(root);
  return pressure;
}

Pressure pressure_between(const Pressure& begin, const Pressure& end) {
  return {.throttled_periods = grown(begin.throttled_periods, end.throttled_periods),
          .throttled_seconds = grown(begin.throttled_seconds, end.throttled_seconds),
          .thermal_throttles = grown(begin.thermal_throttles, end.thermal_throttles),
          .swapped_bytes = grown(begin.swapped_bytes, end.swapped_bytes),
          .own_swap_bytes = end.own_swap_bytes};
}

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& folder : cpu_groups(root))
    if (const auto quota = quota_of(folder)) least = std::min(least.value_or(*quota), *quota);
  return least;
}

}  // namespace ptbench
