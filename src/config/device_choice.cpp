#include "src/config/device_choice.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "kernels/cuda_module.h"
#include "src/base/error.h"
#include "src/config/precision.h"
#include "src/device/emulated.h"
#include "workloads/lower.h"

namespace ptbench {
namespace {

/// What stands between the run and the CUDA engine, as an error would say it.
struct Obstacle {
  std::string message;
  std::string remedy;
};

/// Operators of a small batch: which ones there are does not depend on its size.
std::optional<std::string> missing_operator(const CudaModule& engine, const Workload& workload,
                                            ElementType type) {
  const Graph graph = workload.build(workload.input_shape);
  const LoweredGraph lowered = lower(graph, {.batch = 2, .global_batch = 2, .type = type});
  for (const LoweredOperator& one : lowered.operators)
    if (!engine.computes(one.spec))
      return fmt::format("'{}' of layer '{}'", key_of(one.spec), one.node);
  return std::nullopt;
}

std::optional<Obstacle> obstacle_of(const CudaModule& engine, const RunOptions& options,
                                    const StrategyRow& strategy, const Workload& workload) {
  const std::string& id = engine.device().id;
  if (options.nproc > 1)
    return Obstacle{fmt::format("--device {}: one rank trains on a GPU, not {}", id, options.nproc),
                    "leave --nproc out, or use --device cpu"};
  const std::string& capability = engine.device().compute_capability;
  const std::string precision = options.precision.value_or(
      strategy.mixed_precision ? mixed_precision_of(capability) : "fp32");
  if (!multiplies(capability, precision))
    return Obstacle{
        fmt::format("--device {}: {} is multiplied from compute capability 8.0 on, and this one "
                    "has {}",
                    id, precision, capability),
        "use --precision fp16 or fp32"};
  if (const auto missing = missing_operator(engine, workload, multiplied_type(precision)))
    return Obstacle{fmt::format("--device {}: the CUDA engine does not compute {}", id, *missing),
                    "use --device cpu, or a workload of linear layers"};
  return std::nullopt;
}

ChosenDevice chosen(const CudaModule& engine) {
  const CudaDeviceInfo& device = engine.device();
  return {.id = device.id,
          .name = device.name,
          .memory_bytes = device.memory_bytes,
          .compute_capability = device.compute_capability,
          .is_emulated = is_emulated(device.name)};
}

/// Whether asking the engine, which loads CUDA's libraries, is worth it.
bool has_driver() {
  constexpr std::array kFiles{"/dev/nvidiactl", "/dev/dxg"};  // Linux; Windows' own Linux
  std::error_code ignored;
  for (const char* file : kFiles)
    if (std::filesystem::exists(file, ignored)) return true;
  return false;
}

ChosenDevice choose_automatically(const RunOptions& options, const StrategyRow& strategy,
                                  const Workload& workload) {
  if (!has_driver()) return {};
  try {
    const CudaModule engine("cuda");
    if (!obstacle_of(engine, options, strategy, workload)) return chosen(engine);
  } catch (const Error& error) {
    if (error.code() != ExitCode::capability) throw;
  }
  return {};
}

/// What an emulated device is asked for must not depend on its speed, or tell it.
void require_no_clock(const ChosenDevice& device, const RunOptions& options) {
  if (!device.is_emulated) return;
  const bool is_of_fixed_length =
      options.steps || options.epochs || options.verify == VerifyMode::only;
  if (!is_of_fixed_length)
    throw usage_error(
        fmt::format("--device {}: the device is emulated, so that no speed can say when to stop",
                    device.id),
        "add --steps N");
  if (options.trace)
    throw usage_error(fmt::format("--trace: {} is emulated, and has no times", device.id),
                      "leave it out");
}

}  // namespace

ChosenDevice choose_device(const RunOptions& options, const StrategyRow& strategy,
                           const Workload& workload) {
  if (options.device == "auto") return choose_automatically(options, strategy, workload);
  if (!options.device.starts_with("cuda")) return {};
  const CudaModule engine(options.device);
  if (const auto obstacle = obstacle_of(engine, options, strategy, workload))
    throw capability_error(obstacle->message, obstacle->remedy);
  ChosenDevice device = chosen(engine);
  require_no_clock(device, options);
  return device;
}

}  // namespace ptbench
