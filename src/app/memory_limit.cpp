#include "src/app/memory_limit.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/units.h"
#include "src/device/memory.h"
#include "workloads/memory.h"

namespace ptbench {
namespace {

/// In double: absurd batches must come out large, not negative.
double predicted_bytes(const RunConfig& config, const Graph& graph, Size batch) {
  const double data = static_cast<double>(config.processes()) *
                      static_cast<double>(config.synthetic_samples) *
                      static_cast<double>(graph.input_shape.elements()) * sizeof(float);
  // Unequal shares together are as large as so many of the largest. (No sum of micro-batches that
  // options allow overflows.)
  const double ranks = static_cast<double>(config.together()) / static_cast<double>(config.batch);
  return data +
         ranks * static_cast<double>(
                     estimate_memory(graph, batch, config.type, config.step.optimizer).total());
}

/// The largest power of two below the wanted batch that fits; 0 if none does.
Size largest_batch(const RunConfig& config, const Graph& graph, double available) {
  RunConfig smaller = config;
  for (Size batch = Size{1} << 40U; batch > 0; batch /= 2) {
    if (batch >= config.batch) continue;
    if (!config.options.samples && config.synthetic_samples > 0)
      smaller.synthetic_samples =
          std::max(config.workload.synthetic_samples,
                   batch * config.step.accumulation_steps * config.options.nproc);
    if (predicted_bytes(smaller, graph, batch) <= available) return batch;
  }
  return 0;
}

}  // namespace

void require_memory(const RunConfig& config, const Graph& graph) {
  const auto available = static_cast<double>(available_memory());
  const double wanted = predicted_bytes(config, graph, config.batch);
  if (wanted <= available) return;
  const Size fits = largest_batch(config, graph, available);
  throw usage_error(
      fmt::format(
          "batch {} of '{}' with {} samples needs about {} of memory, {} is available",
          config.batch, config.workload.name,
          config.synthetic_samples > 0 ? fmt::format("{}", config.synthetic_samples) : "its data's",
          format_bytes(static_cast<Bytes>(wanted)), format_bytes(static_cast<Bytes>(available))),
      fits > 0 && config.shares.empty() ? fmt::format("use --batch-size {} or less", fits)
      : fits > 0                        ? fmt::format("use --shares of {} or less", fits)
                                        : std::string("use fewer --samples, or free memory"));
}

}  // namespace ptbench
