#include "src/device/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace ptbench {
namespace {

/// The driver's library; a toolkit's is for linking only.
constexpr const char* kLibrary = "libnvidia-ml.so.1";

template <class Function>
void find(void* library, const char* name, Function*& function) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): POSIX says that it may be.
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

/// By the names that the header's macros give functions of several versions.
NvmlFunctions functions_of(void* library) {
  NvmlFunctions found;
  find(library, "nvmlInit_v2", found.init);
  find(library, "nvmlShutdown", found.shutdown);
  find(library, "nvmlErrorString", found.error_string);
  find(library, "nvmlSystemGetDriverVersion", found.driver_version);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", found.device_by_bus_id);
  find(library, "nvmlDeviceGetClockInfo", found.clock);
  find(library, "nvmlDeviceGetTemperature", found.temperature);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", found.clocks_event_reasons);
  if (found.clocks_event_reasons == nullptr)  // its name before driver 535
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", found.clocks_event_reasons);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", found.total_energy);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", found.compute_processes);
  find(library, "nvmlDeviceGetProcessUtilization", found.process_utilization);
  return found;
}

}  // namespace

void Nvml::Close::operator()(void* library) const noexcept { (void)dlclose(library); }

Nvml::Nvml() : library_(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) {
    const char* error = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one a thread
    reason_ = error == nullptr ? fmt::format("{} cannot be opened", kLibrary) : error;
    return;
  }
  functions_ = functions_of(library_.get());
  const NvmlResult result = call(functions_.init);
  initialized_ = result == NvmlResult::success;
  if (!initialized_) reason_ = fmt::format("nvmlInit_v2: {}", text_of(result));
}

Nvml::~Nvml() {
  if (initialized_) (void)call(functions_.shutdown);
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};  // 80 at most
  const NvmlResult result =
      call(functions_.driver_version, text.data(), static_cast<unsigned>(text.size()));
  return result == NvmlResult::success ? std::string(text.data()) : std::string();
}

std::string Nvml::text_of(NvmlResult result) const {
  if (result == NvmlResult::function_not_found)
    return fmt::format("{} has no such function", kLibrary);
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(result);
  return text == nullptr ? fmt::format("error {}", static_cast<int>(result)) : std::string(text);
}

}  // namespace ptbench
