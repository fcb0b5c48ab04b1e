// A shadow of NVIDIA's management library: what it tells of devices is what the environment says,
// as it is at each call. Prototypes by the NVML API Reference Guide; there may be no nvml.h.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): as NVIDIA names them
extern "C" {
using nvmlReturn_t = int;
using nvmlDevice_t = struct nvmlDevice_st*;

struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};

struct nvmlProcessUtilizationSample_t {
  unsigned pid;
  unsigned long long timeStamp;
  unsigned smUtil;
  unsigned memUtil;
  unsigned encUtil;
  unsigned decUtil;
};
}
// NOLINTEND(readability-identifier-naming)

namespace ptbench::emulator {
namespace {

constexpr nvmlReturn_t kSuccess = 0;
constexpr nvmlReturn_t kUninitialized = 1;
constexpr nvmlReturn_t kInvalidArgument = 2;
constexpr nvmlReturn_t kNotSupported = 3;
constexpr nvmlReturn_t kNotFound = 6;
constexpr nvmlReturn_t kInsufficientSize = 7;
constexpr nvmlReturn_t kDriverNotLoaded = 9;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

unsigned long long number(const char* name, unsigned long long otherwise) {
  const std::string word = variable(name);
  return word.empty() ? otherwise : std::strtoull(word.c_str(), nullptr, 0);
}

/// PTBENCH_EMULATOR_NVML: "failed" cannot be initialized, "silent" tells nothing of devices,
/// "elsewhere" lists processes by the ids of another namespace.
bool is_in_state(const char* state) { return variable("PTBENCH_EMULATOR_NVML") == state; }

/// What happened since the library was opened.
struct History {
  int users = 0;                       ///< nvmlInit without nvmlShutdown
  unsigned long long millijoules = 0;  ///< used
  unsigned long long samples = 0;      ///< the newest one's time
};

History& history() {
  static History only;
  return only;
}

/// PTBENCH_EMULATOR_FOREIGN, "PID:PERCENT" or "PID:PERCENT:COUNT": other processes from PID on,
/// each of which uses so much.
struct Foreign {
  unsigned pid = 0;
  unsigned percent = 0;
  unsigned count = 0;
};

Foreign foreign() {
  Foreign found;
  const std::string word = variable("PTBENCH_EMULATOR_FOREIGN");
  if (word.empty()) return found;
  char* rest = nullptr;
  found.pid = static_cast<unsigned>(std::strtoul(word.c_str(), &rest, 10));
  if (*rest == ':') found.percent = static_cast<unsigned>(std::strtoul(rest + 1, &rest, 10));
  found.count = *rest == ':' ? static_cast<unsigned>(std::strtoul(rest + 1, &rest, 10)) : 1;
  return found;
}

unsigned own_pid() {
  constexpr unsigned kElsewhere = 1U << 22U;  // above what Linux gives
  return static_cast<unsigned>(getpid()) + (is_in_state("elsewhere") ? kElsewhere : 0);
}

/// Handles of devices are their addresses here.
std::array<char, 16>& handles() {
  static std::array<char, 16> only{};
  return only;
}

std::size_t index_of(nvmlDevice_t device) {
  return static_cast<std::size_t>(reinterpret_cast<char*>(device) - handles().data());
}

/// What every query of a device begins with.
nvmlReturn_t asked(nvmlDevice_t device, const void* answer) {
  if (history().users == 0) return kUninitialized;
  if (device == nullptr || answer == nullptr) return kInvalidArgument;
  return is_in_state("silent") ? kNotSupported : kSuccess;
}

/// Copies as far as there is room, and tells how many there are.
template <class T>
nvmlReturn_t give(const std::vector<T>& entries, T* places, unsigned* count) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(entries.size());
  if (places == nullptr || room < entries.size()) return kInsufficientSize;
  for (std::size_t index = 0; index < entries.size(); ++index) places[index] = entries[index];
  return kSuccess;
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

nvmlReturn_t nvmlInit_v2() {
  if (is_in_state("failed")) return kDriverNotLoaded;
  ++history().users;
  return kSuccess;
}

nvmlReturn_t nvmlShutdown() {
  if (history().users == 0) return kUninitialized;
  --history().users;
  return kSuccess;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case kSuccess: return "Success";
    case kUninitialized: return "Uninitialized";
    case kInvalidArgument: return "Invalid Argument";
    case kNotSupported: return "Not Supported";
    case kNotFound: return "Not Found";
    case kInsufficientSize: return "Insufficient Size";
    case kDriverNotLoaded: return "Driver Not Loaded";
    default: return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  if (history().users == 0) return kUninitialized;
  const int written = std::snprintf(version, length, "580.00");
  return written < static_cast<int>(length) ? kSuccess : kInsufficientSize;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
  if (history().users == 0) return kUninitialized;
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  if (id == nullptr || std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3)
    return kInvalidArgument;
  if (bus < 1 || bus > number("PTBENCH_EMULATOR_DEVICES", 1)) return kNotFound;
  *device = reinterpret_cast<nvmlDevice_t>(&handles().at(bus - 1));
  return kSuccess;
}

/// PTBENCH_EMULATOR_CLOCK, in MHz.
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned* megahertz) {
  if (const nvmlReturn_t result = asked(device, megahertz); result != kSuccess) return result;
  if (type != 1) return kInvalidArgument;  // no other than that of multiprocessors is known here
  *megahertz = static_cast<unsigned>(number("PTBENCH_EMULATOR_CLOCK", 1410));
  return kSuccess;
}

/// PTBENCH_EMULATOR_TEMPERATURE, in °C, of the first device; of each next one more.
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned* celsius) {
  if (const nvmlReturn_t result = asked(device, celsius); result != kSuccess) return result;
  if (sensor != 0) return kInvalidArgument;
  *celsius = static_cast<unsigned>(number("PTBENCH_EMULATOR_TEMPERATURE", 40) + index_of(device));
  return kSuccess;
}

/// PTBENCH_EMULATOR_THROTTLE: the bits, as 0x40.
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons) {
  if (const nvmlReturn_t result = asked(device, reasons); result != kSuccess) return result;
  *reasons = number("PTBENCH_EMULATOR_THROTTLE", 0);
  return kSuccess;
}

/// PTBENCH_EMULATOR_ENERGY: millijoules from call to call.
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules) {
  if (const nvmlReturn_t result = asked(device, millijoules); result != kSuccess) return result;
  *millijoules = history().millijoules += number("PTBENCH_EMULATOR_ENERGY", 1000);
  return kSuccess;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* processes) {
  if (const nvmlReturn_t result = asked(device, count); result != kSuccess) return result;
  const Foreign others = foreign();
  std::vector<nvmlProcessInfo_t> all{{own_pid(), 1U << 20U, ~0U, ~0U}};
  for (unsigned other = 0; other < others.count; ++other)
    all.push_back({others.pid + other, 1U << 20U, ~0U, ~0U});
  return give(all, processes, count);
}

/// A new sample of each process that uses the device is made by each call that has room for them.
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* samples,
                                             unsigned* count, unsigned long long last_seen) {
  if (const nvmlReturn_t result = asked(device, count); result != kSuccess) return result;
  const Foreign others = foreign();
  const unsigned long long now = history().samples + 1;
  std::vector<nvmlProcessUtilizationSample_t> all{{own_pid(), now, 90, 10, 0, 0}};
  if (others.percent > 0)
    for (unsigned other = 0; other < others.count; ++other)
      all.push_back({others.pid + other, now, others.percent, 1, 0, 0});
  if (now <= last_seen) return kNotFound;
  const nvmlReturn_t result = give(all, samples, count);
  if (result == kSuccess) history().samples = now;
  return result;
}
}
// NOLINTEND(readability-identifier-naming)
