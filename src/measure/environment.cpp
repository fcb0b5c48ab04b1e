#include "src/measure/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>

#include "src/base/error.h"
#include "src/base/number.h"
#include "src/base/text.h"
#include "src/device/isa.h"

namespace ptbench {
namespace {

/// Families of variables of the libraries that compute and communicate.
constexpr std::array<std::string_view, 13> kPrefixes{
    "OMP_",  "GOMP_", "KMP_",    "DNNL_",  "ONEDNN_", "MKL_",    "OPENBLAS_",
    "NCCL_", "UCX_",  "CUBLAS_", "CUDNN_", "MALLOC_", "PTBENCH_"};

/// Single variables: who placed this rank, and what decides on devices and memory.
constexpr std::array<std::string_view, 24> kNames{"RANK",
                                                  "WORLD_SIZE",
                                                  "LOCAL_RANK",
                                                  "LOCAL_WORLD_SIZE",
                                                  "MASTER_ADDR",
                                                  "MASTER_PORT",
                                                  "OMPI_COMM_WORLD_RANK",
                                                  "OMPI_COMM_WORLD_SIZE",
                                                  "OMPI_COMM_WORLD_LOCAL_RANK",
                                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                  "PMI_RANK",
                                                  "PMI_SIZE",
                                                  "MPI_LOCALRANKID",
                                                  "MPI_LOCALNRANKS",
                                                  "SLURM_JOB_ID",
                                                  "SLURM_STEP_ID",
                                                  "SLURM_PROCID",
                                                  "SLURM_LOCALID",
                                                  "SLURM_STEP_NUM_TASKS",
                                                  "CUDA_VISIBLE_DEVICES",
                                                  "CUDA_DEVICE_ORDER",
                                                  "CUDA_MODULE_LOADING",
                                                  "NVIDIA_TF32_OVERRIDE",
                                                  "LD_PRELOAD"};

bool is_measured(std::string_view name) {
  if (name == "PTBENCH_TOKEN") return false;  // a secret
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::optional<std::string> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::string> os_name() {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"})
    if (const auto text = read_file(path)) return os_pretty_name(*text);
  return {};
}

/// The value of an assignment as a shell would read it: one pair of quotes off, backslashes too.
std::string unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  if (quoted) value = value.substr(1, value.size() - 2);
  std::string result;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] == '\\' && at + 1 < value.size()) ++at;
    result += value[at];
  }
  return result;
}

}  // namespace

std::optional<std::string> os_pretty_name(std::string_view os_release) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  while (!os_release.empty()) {
    const std::string_view line = os_release.substr(0, os_release.find('\n'));
    if (line.starts_with(kKey)) return valid_utf8(unquoted(line.substr(kKey.size())));
    os_release.remove_prefix(std::min(line.size() + 1, os_release.size()));
  }
  return {};
}

std::map<std::string, std::string> measured_variables(const char* const* environment) {
  std::map<std::string, std::string> variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view assignment = *environment;
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = assignment.substr(0, equals);
    if (is_measured(name)) variables[valid_utf8(name)] = valid_utf8(assignment.substr(equals + 1));
  }
  return variables;
}

EnvironmentRecord describe_environment(const Topology& topology) {
  EnvironmentRecord result;
  utsname names{};
  ensure(uname(&names) == 0, "uname failed");
  result.host.name = valid_utf8(static_cast<const char*>(names.nodename));
  result.host.os = os_name();
  result.host.kernel = valid_utf8(static_cast<const char*>(names.release));
  if (!topology.cpu_model.empty()) result.cpu.model = valid_utf8(topology.cpu_model);
  if (!topology.cores.empty()) result.cpu.cores = static_cast<Size>(topology.cores.size());
  result.cpu.isa = cpu_extensions();
  if (topology.memory_bytes != 0) result.memory_bytes = topology.memory_bytes;
  result.variables = measured_variables(environ);
  return result;
}

std::string rfc3339_utc(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ensure(gmtime_r(&seconds, &parts) != nullptr, "a time that the calendar does not hold");
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::optional<std::chrono::sys_seconds> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  if (text.size() != kShape.size()) return std::nullopt;
  const auto number = [text](std::size_t first, std::size_t count) {
    return static_cast<int>(parse_whole(text.substr(first, count)).value_or(0));
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!day.ok()) return std::nullopt;
  const std::chrono::sys_seconds time =
      std::chrono::sys_days(day) + std::chrono::hours(number(11, 2)) +
      std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
  // What does not come out as it went in was another text.
  return rfc3339_utc(time) == text ? std::optional(time) : std::nullopt;
}

}  // namespace ptbench
