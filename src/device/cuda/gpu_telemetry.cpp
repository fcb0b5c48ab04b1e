#include "src/device/cuda/gpu_telemetry.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace ptbench {
namespace {

constexpr int kMultiprocessorClock = 1;  // NVML_CLOCK_SM
constexpr int kDieSensor = 0;            // NVML_TEMPERATURE_GPU

unsigned own_pid() { return static_cast<unsigned>(getpid()); }

WatchGap gap_of_library(const Nvml& nvml) {
  if (nvml.found())
    return {.reason = nvml.reason(), .remedy = "see whether nvidia-smi works, and what it says"};
  return {.reason = nvml.reason(),
          .remedy =
              "install the driver's management library; in a container, add 'utility' to "
              "NVIDIA_DRIVER_CAPABILITIES"};
}

/// What a function listed, in the room that it was given.
template <class Entry>
struct Listed {
  NvmlResult result;
  std::span<const Entry> entries;
};

/// Lets `list` fill `room`: its count is the room's size before, and after it that of the list,
/// which may take more room.
template <class Entry, class List>
Listed<Entry> list_into(std::vector<Entry>& room, const List& list) {
  auto count = static_cast<unsigned>(room.size());
  NvmlResult result = list(&count);
  if (result == NvmlResult::insufficient_size) {
    room.resize(std::max(room.size(), 2 * std::size_t{count}));
    count = static_cast<unsigned>(room.size());
    result = list(&count);
  }
  return {result, std::span(room).first(std::min(std::size_t{count}, room.size()))};
}

}  // namespace

GpuTelemetry::GpuTelemetry(int index) {
  if (nvml_.reason().empty())
    find_device(index);
  else
    gap_ = gap_of_library(nvml_);
  if (device_ != nullptr) find_missing();
}

void GpuTelemetry::find_device(int index) {
  std::array<char, 32> bus_id{};  // "0000:3b:00.0"
  if (cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), index) != cudaSuccess)
    (void)cudaGetLastError();  // the library refuses what stands there then
  const NvmlResult result = Nvml::call(nvml_.functions().device_by_bus_id, bus_id.data(), &device_);
  if (result == NvmlResult::success) return;
  device_ = nullptr;
  gap_ = WatchGap{.reason = fmt::format("nvmlDeviceGetHandleByPciBusId_v2({}): {}", bus_id.data(),
                                        nvml_.text_of(result)),
                  .remedy = "see whether nvidia-smi lists the GPU"};
}

/// By a first look, which also makes room for processes and sets the beginning of their samples.
void GpuTelemetry::find_missing() {
  constexpr std::size_t kUsualProcesses = 64;
  processes_.resize(kUsualProcesses);
  samples_.resize(kUsualProcesses);
  unsigned megahertz = 0;
  (void)told(Nvml::call(nvml_.functions().clock, device_, kMultiprocessorClock, &megahertz),
             "clock");
  (void)look();
}

bool GpuTelemetry::told(NvmlResult result, std::string_view what) {
  if (result == NvmlResult::success) return true;
  std::string text = fmt::format("{} ({})", what, nvml_.text_of(result));
  if (std::ranges::find(missing_, text) == missing_.end()) missing_.push_back(std::move(text));
  return false;
}

AcceleratorConditions GpuTelemetry::look() {
  if (device_ == nullptr) return {};
  // What lowers clocks may end soon after the work did: it comes first.
  AcceleratorConditions conditions;
  conditions.throttling = throttling();
  conditions.joules = joules();
  conditions.temperature_celsius = temperature();
  conditions.other_processes = other_processes();
  const std::optional<double> foreign = foreign_fraction();
  // Samples name processes by the same ids: whose they are is known where own ids are.
  if (conditions.other_processes) conditions.foreign_fraction = foreign;
  return conditions;
}

std::optional<double> GpuTelemetry::clock_hertz() const {
  constexpr double kHertzPerMegahertz = 1e6;
  if (device_ == nullptr) return std::nullopt;
  unsigned megahertz = 0;
  const NvmlResult result =
      Nvml::call(nvml_.functions().clock, device_, kMultiprocessorClock, &megahertz);
  if (result != NvmlResult::success) return std::nullopt;
  return kHertzPerMegahertz * megahertz;
}

/// The bits of nvmlDeviceGetCurrentClocksEventReasons are those of ThrottleReason.
std::optional<ThrottleReasons> GpuTelemetry::throttling() {
  unsigned long long reasons = 0;
  const NvmlResult result = Nvml::call(nvml_.functions().clocks_event_reasons, device_, &reasons);
  if (told(result, "throttling")) return ThrottleReasons{static_cast<std::uint32_t>(reasons)};
  gap_ = WatchGap{
      .reason = fmt::format("nvmlDeviceGetCurrentClocksEventReasons: {}", nvml_.text_of(result)),
      .remedy = result == NvmlResult::function_not_found
                    ? "install a newer driver"
                    : "see what nvidia-smi -q -d PERFORMANCE says"};
  return std::nullopt;
}

std::optional<double> GpuTelemetry::temperature() {
  unsigned celsius = 0;
  if (!told(Nvml::call(nvml_.functions().temperature, device_, kDieSensor, &celsius),
            "temperature"))
    return std::nullopt;
  return celsius;
}

/// Counted by the GPU since the driver was loaded, and renewed some tens of times a second.
std::optional<double> GpuTelemetry::joules() {
  constexpr double kJoulesPerMillijoule = 1e-3;
  unsigned long long millijoules = 0;
  if (!told(Nvml::call(nvml_.functions().total_energy, device_, &millijoules), "energy"))
    return std::nullopt;
  return kJoulesPerMillijoule * static_cast<double>(millijoules);
}

std::optional<int> GpuTelemetry::other_processes() {
  const auto [result, listed] = list_into(processes_, [&](unsigned* count) {
    return Nvml::call(nvml_.functions().compute_processes, device_, count, processes_.data());
  });
  if (!told(result, "processes")) return std::nullopt;
  const auto own = std::ranges::count(listed, own_pid(), &NvmlProcess::pid);
  if (own == 0) return std::nullopt;
  return static_cast<int>(std::ssize(listed) - own);
}

/// The driver samples every process a few times a second and keeps the samples; their own
/// timestamps tell which are new, so that no clock has to agree with the driver's.
std::optional<double> GpuTelemetry::foreign_fraction() {
  constexpr unsigned kWhole = 100;  // what is more is no share, as some drivers give
  const auto [result, listed] = list_into(samples_, [&](unsigned* count) {
    return Nvml::call(nvml_.functions().process_utilization, device_, samples_.data(), count,
                      last_sample_);
  });
  if (result == NvmlResult::not_found) return std::nullopt;  // no sample since, of nobody
  if (!told(result, "use by processes")) return std::nullopt;
  unsigned most = 0;
  unsigned long long newest = last_sample_;
  for (const NvmlProcessSample& sample : listed) {
    newest = std::max(newest, sample.timestamp);
    const bool is_new = sample.timestamp > last_sample_;
    const bool is_share = sample.multiprocessors <= kWhole;
    if (sample.pid != own_pid() && is_new && is_share)
      most = std::max(most, sample.multiprocessors);
  }
  last_sample_ = newest;
  return 0.01 * most;
}

}  // namespace ptbench
