#include "app/config/memory_limit.h"

#include <fmt/format.h>

#include "kernels/spec.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/device/memory.h"
#include "workloads/lower.h"
#include "workloads/memory.h"

namespace ptbench {
namespace {

/// In double: absurd batches must come out large, not negative.
double data_bytes(const RunConfig& config, const Graph& graph) {
  return static_cast<double>(config.processes()) * static_cast<double>(config.synthetic_samples) *
         static_cast<double>(graph.input_shape.elements()) * sizeof(float);
}

/// On the device that trains; data lie in the host's memory.
double predicted_bytes(const RunConfig& config, const Graph& graph, Size batch) {
  const double data = config.device.is_cpu() ? data_bytes(config, graph) : 0;
  // Unequal shares together are as large as so many of the largest. (No sum of micro-batches that
  // options allow overflows.)
  const double ranks = config.device.is_cpu() ? static_cast<double>(config.batch.together()) /
                                                    static_cast<double>(config.batch_size())
                                              : static_cast<double>(config.device.most_replicas());
  const MemoryPrediction replica =
      estimate_memory(graph, batch, config.type, config.optimizer,
                      config.lets_gradients_pass(0) ? GradientUse::passing : GradientUse::kept);
  return data + ranks * static_cast<double>(replica.total());
}

/// The prediction with another batch or number of ranks.
double predicted_bytes_with(const RunConfig& config, const Graph& graph, Size batch, Size nproc) {
  RunConfig other = config;
  other.options.nproc = nproc;
  if (config.batch.shares.empty()) {
    other.batch.micro_batch = batch;
    other.batch.replicas = nproc;
  }
  if (!config.options.samples && config.synthetic_samples > 0)
    other.synthetic_samples = std::max(config.workload.synthetic_samples,
                                       batch * config.batch.accumulation_steps * nproc);
  return predicted_bytes(other, graph, batch);
}

/// The largest power of two below the wanted batch that fits; 0 if none does.
Size largest_batch(const RunConfig& config, const Graph& graph, double available) {
  for (Size batch = Size{1} << 40U; batch > 0; batch /= 2)
    if (batch < config.batch_size() &&
        predicted_bytes_with(config, graph, batch, config.options.nproc) <= available)
      return batch;
  return 0;
}

/// The most ranks or replicas below the wanted number that fit; 0 if not even one does, or each has
/// a share of its own.
Size most_ranks(const RunConfig& config, const Graph& graph, double available) {
  if (!config.batch.shares.empty()) return 0;
  Size fitting = 0;
  for (Size above = config.options.nproc; above - fitting > 1;) {
    const Size middle = fitting + (above - fitting) / 2;
    const bool fits = predicted_bytes_with(config, graph, config.batch_size(), middle) <= available;
    (fits ? fitting : above) = middle;
  }
  return fitting;
}

/// Where memory can come from, without a smaller run.
const char* more_memory(const RunConfig& config) {
  if (!config.device.is_cpu()) return "a device with more memory";
  return is_memory_of_group() ? "a higher limit of the control group (of the container)"
                              : "a machine with more memory";
}

/// Of a run of which not even one rank with one sample fits: names what takes most.
std::string remedy_for_one(const RunConfig& config, const Graph& graph) {
  RunConfig one = config;
  one.options.nproc = 1;
  const MemoryPrediction parts = estimate_memory(graph, 1, config.type, config.optimizer);
  const auto data = static_cast<Bytes>(config.device.is_cpu() ? data_bytes(one, graph) : 0);
  const Bytes weights = parts.parameters + parts.gradients + parts.optimizer;
  if (data >= std::max(weights, parts.activations))
    return fmt::format("{} of that are the samples: use fewer --samples, or {}", format_bytes(data),
                       more_memory(config));
  if (weights >= parts.activations)
    return fmt::format(
        "{} of that are the parameters, with their gradients and the optimizer's "
        "state: use a smaller model, or {}",
        format_bytes(weights), more_memory(config));
  return fmt::format(
      "the activations of one sample take {}: use a model with smaller layers, or {}",
      format_bytes(parts.activations), more_memory(config));
}

std::string remedy_for(const RunConfig& config, const Graph& graph, double available) {
  const Size ranks = most_ranks(config, graph, available);
  const Size batch = largest_batch(config, graph, available);
  const char* option = config.batch.shares.empty() ? "--batch-size" : "--shares of";
  std::string remedy;
  if (ranks > 0) remedy = fmt::format("use --nproc {}{}", ranks, ranks > 1 ? " or less" : "");
  if (batch > 0)
    remedy += fmt::format("{} {} {} or less", ranks > 0 ? ", or" : "use", option, batch);
  return remedy.empty() ? remedy_for_one(config, graph) : remedy;
}

/// Of a run whose model lies on another device.
void require_host_memory(const RunConfig& config, const Graph& graph) {
  const double wanted = data_bytes(config, graph);
  const Bytes available = available_memory();
  if (wanted > static_cast<double>(available))
    throw usage_error(
        fmt::format("--samples {}: they need {} of memory, {} is available",
                    config.synthetic_samples, format_bytes(static_cast<Bytes>(wanted)),
                    format_bytes(available)),
        "use fewer --samples, or free memory");
}

}  // namespace

void require_memory(const RunConfig& config, const Graph& graph) {
  const auto available =
      static_cast<double>(config.device.is_cpu() ? available_memory() : config.device.memory_bytes);
  const double wanted = predicted_bytes(config, graph, config.batch_size());
  if (wanted <= available && !config.device.is_cpu()) require_host_memory(config, graph);
  if (wanted <= available) return;
  const Size ranks = config.options.nproc;
  throw usage_error(
      fmt::format(
          "{}batch {} of '{}' with {} samples needs about {} of memory{}, {} is available",
          ranks > 1 ? fmt::format("--nproc {}: ", ranks) : "", config.batch_size(),
          printable(config.workload.name),
          config.synthetic_samples > 0 ? fmt::format("{}", config.synthetic_samples) : "its data's",
          format_bytes(static_cast<Bytes>(wanted)),
          config.device.is_cpu() ? "" : " on " + config.device.id,
          format_bytes(static_cast<Bytes>(available))),
      remedy_for(config, graph, available));
}

Bytes padded_parameter_bytes(const Graph& graph) {
  constexpr Size kBlock = 64;
  Bytes bytes = 0;
  for (const LoweredOperator& lowered : lower(graph, {.batch = 1, .global_batch = 1}).operators)
    for (const ParameterSpec& parameter : parameters_of(lowered.spec)) {
      Size elements = 1;
      std::size_t place = 0;
      for (const Size dimension : parameter.shape.dimensions())
        elements *= place++ < 2 ? round_up(dimension, kBlock) : dimension;
      bytes += float_bytes(elements);
    }
  return bytes;
}

}  // namespace ptbench
