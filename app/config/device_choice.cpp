#include "app/config/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/config/precision.h"
#include "kernels/cuda_module.h"
#include "src/base/error.h"
#include "src/base/number.h"
#include "src/base/units.h"
#include "src/comm/nccl_module.h"
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
  const std::string& capability = engine.device().compute_capability;
  const std::string precision = options.precision.value_or(
      strategy.mixed_precision ? mixed_precision_of(capability) : "fp32");
  if (!multiplies(capability, precision))
    return Obstacle{fmt::format("--device {}: {} needs compute capability 8.0, and this GPU has {}",
                                id, precision, capability),
                    "use --precision fp16 or fp32"};
  if (const auto missing = missing_operator(engine, workload, multiplied_type(precision)))
    return Obstacle{fmt::format("--device {}: the CUDA engine does not compute {}", id, *missing),
                    "use --device cpu, or a workload of linear layers"};
  return std::nullopt;
}

/// The numbers behind the colon of a device; empty where there is none.
std::vector<std::size_t> listed(const std::string& device) {
  std::vector<std::size_t> indices;
  const std::size_t colon = device.find(':');
  if (colon == std::string::npos) return indices;
  for (std::string_view rest = std::string_view(device).substr(colon + 1);;) {
    const std::size_t end = rest.find('+');
    indices.push_back(static_cast<std::size_t>(parse_whole(rest.substr(0, end)).value_or(0)));
    if (end == std::string_view::npos) return indices;
    rest.remove_prefix(end + 1);
  }
}

std::string counted(std::size_t gpus) {
  return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
}

/// Ranks share one plan, whose algorithms each GPU has to have, and wait for the slowest.
void require_alike(const std::string& device, const CudaDeviceInfo& first,
                   const CudaDeviceInfo& other) {
  if (first.name == other.name && first.memory_bytes == other.memory_bytes &&
      first.compute_capability == other.compute_capability)
    return;
  const auto text = [](const CudaDeviceInfo& one) {
    return fmt::format("{} is {} of compute capability {} with {}", one.id, one.name,
                       one.compute_capability, format_bytes(one.memory_bytes));
  };
  throw capability_error(
      fmt::format("--device {}: the GPUs differ: {}, {}", device, text(first), text(other)),
      "name equal ones, for example cuda:0+1");
}

/// As many GPUs as there are replicas; `engine` is of this process's.
ChosenDevice chosen(const CudaModule& engine, std::vector<std::string> of_replicas) {
  const CudaDeviceInfo& device = engine.device();
  return {.id = device.id,
          .of_replicas = std::move(of_replicas),
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

/// How many GPUs the ranks of this process's host need.
Size gpus_of_host(const RunOptions& options) {
  if (options.rank_hosts.empty()) return options.nproc;
  const auto own = static_cast<std::size_t>(options.place.rank.value_or(0));
  Size most = 0;
  for (std::size_t rank = 0; rank < options.rank_hosts.size(); ++rank)
    if (options.rank_hosts[rank] == options.rank_hosts[own])
      most = std::max(most, options.local_ranks[rank]);
  return most + 1;
}

/// The devices of the local ranks, by rank. What ranks of other hosts have is as here, or as
/// `--device cuda` says where their host has more ranks.
std::vector<std::string> by_rank(const std::vector<std::string>& ids,
                                 const std::vector<Size>& local_ranks) {
  if (local_ranks.empty()) return ids;
  std::vector<std::string> of_ranks;
  for (const Size local : local_ranks)
    of_ranks.push_back(local < std::ssize(ids) ? ids[static_cast<std::size_t>(local)]
                                               : fmt::format("cuda:{}", local));
  return of_ranks;
}

/// Throws what keeps the run from it. What a rank opens is its own device.
ChosenDevice choose_gpus(const RunOptions& options, const StrategyRow& strategy,
                         const Workload& workload) {
  std::vector<std::string> ids =
      by_rank(gpus_of_replicas(options.device, gpus_of_host(options), options.oversubscribe),
              options.local_ranks);
  if (options.nproc > 1 && !strategy.one_process)
    if (const NcclProbe nccl = probe_nccl(); !nccl.usable) throw nccl_absent_error(nccl);
  const Size own = strategy.one_process ? 0 : options.place.rank.value_or(0);
  const CudaModule engine(ids.at(static_cast<std::size_t>(own)));
  if (const auto obstacle = obstacle_of(engine, options, strategy, workload))
    throw capability_error(obstacle->message, obstacle->remedy);
  ChosenDevice device = chosen(engine, std::move(ids));
  device.rank_hosts = options.rank_hosts;
  return device;
}

ChosenDevice choose_automatically(const RunOptions& options, const StrategyRow& strategy,
                                  const Workload& workload) {
  if (!has_driver()) return {};
  try {
    RunOptions on_gpus = options;
    on_gpus.device = "cuda";
    on_gpus.oversubscribe = false;
    return choose_gpus(on_gpus, strategy, workload);
  } catch (const Error& error) {
    if (error.code() != ExitCode::capability) throw;
  }
  return {};
}

/// What an emulated device is asked for must not depend on its speed. Its traces have an order and
/// no times.
void require_length(const ChosenDevice& device, const RunOptions& options) {
  if (!device.is_emulated) return;
  const ProcessOrders& orders = options.orders;
  const bool others_decide = orders.turns || orders.region;  // who started it was asked
  const bool is_of_fixed_length =
      options.steps || options.epochs || others_decide || options.verify == VerifyMode::only;
  if (!is_of_fixed_length)
    throw usage_error(
        fmt::format(
            "--device {}: the device is emulated and has no speed, so the run needs a fixed length",
            device.id),
        "add --steps N; a gate needs a real device");
}

}  // namespace

bool is_device(std::string_view text) {
  if (text == "cpu" || text == "cuda" || text == "auto") return true;
  if (!text.starts_with("cuda:")) return false;
  for (text.remove_prefix(5);;) {
    const std::size_t end = text.find('+');
    if (!parse_whole(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> gpus_of_replicas(const std::string& device, Size wanted, bool may_share) {
  std::vector<std::size_t> indices = listed(device);
  const CudaModule first(indices.empty() ? "cuda" : fmt::format("cuda:{}", indices.front()));
  const std::vector<CudaDeviceInfo>& all = first.devices();
  const bool names_them = !indices.empty();
  if (indices.empty()) {
    indices.resize(all.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
  }
  const auto replicas = static_cast<std::size_t>(wanted);
  std::vector<std::size_t> different = indices;
  std::ranges::sort(different);
  const bool repeats = std::ranges::adjacent_find(different) != different.end();
  if ((replicas > indices.size() || repeats) && !may_share)
    throw capability_error(
        repeats
            ? fmt::format("--device {}: a GPU is named twice", device)
            : fmt::format("--nproc {}: {} of {} for as many ranks", replicas,
                          counted(indices.size()), names_them ? "--device " + device : "this host"),
        repeats ? std::string(
                      "name each once, or let ranks share a GPU, for tests, with --oversubscribe")
                : fmt::format(
                      "use --nproc {}, or let ranks share a GPU, for tests, with --oversubscribe",
                      indices.size()));
  if (names_them && replicas < indices.size())
    throw usage_error(fmt::format("--device {}: {} for {} rank{}", device, counted(indices.size()),
                                  replicas, replicas == 1 ? "" : "s"),
                      fmt::format("use --nproc {}, or name {}", indices.size(),
                                  replicas == 1 ? "one" : fmt::format("{}", replicas)));
  std::vector<std::string> ids;
  for (std::size_t replica = 0; replica < replicas; ++replica)
    ids.push_back(fmt::format("cuda:{}", indices[replica % indices.size()]));
  for (const std::string& id : ids) {
    const auto found = std::ranges::find(all, id, &CudaDeviceInfo::id);
    if (found == all.end()) (void)CudaModule(id);  // throws, and names those that are
    require_alike(device, first.device(), *found);
  }
  return ids;
}

std::string ChosenDevice::text() const {
  if (is_cpu()) return id;
  std::string text;
  for (std::size_t i = 0; i < of_replicas.size(); ++i) {
    const auto before = std::span(of_replicas).first(i);
    if (std::ranges::find(before, of_replicas[i]) != before.end()) continue;
    text +=
        text.empty() ? of_replicas[i] : "+" + of_replicas[i].substr(of_replicas[i].find(':') + 1);
  }
  return text;
}

Size ChosenDevice::most_replicas() const {
  const auto host = [&](std::size_t replica) {
    return rank_hosts.empty() ? std::string_view() : std::string_view(rank_hosts[replica]);
  };
  std::map<std::pair<std::string_view, std::string_view>, Size> replicas;
  Size most = 1;
  for (std::size_t i = 0; i < of_replicas.size(); ++i)
    most = std::max(most, ++replicas[{host(i), of_replicas[i]}]);
  return most;
}

Size devices_listed(const std::string& device) {
  return std::max<Size>(1, std::ssize(listed(device)));
}

ChosenDevice choose_device(const RunOptions& options, const StrategyRow& strategy,
                           const Workload& workload) {
  if (options.device == "auto") return choose_automatically(options, strategy, workload);
  if (!options.device.starts_with("cuda")) return {};
  ChosenDevice device = choose_gpus(options, strategy, workload);
  require_length(device, options);
  return device;
}

}  // namespace ptbench
