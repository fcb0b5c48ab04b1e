#include "app/training/rank_memory.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>

#include "src/device/memory.h"
#include "strategies/dp.h"
#include "workloads/layout_digest.h"

namespace ptbench {
namespace {

/// What the loaders' threads keep, which fill batches ahead.
Bytes staged_bytes(const TrainingContext& context, const TrainingShape& shape) {
  const Size workers = context.config.options.data_workers;
  if (workers == 0) return 0;
  const Size samples = shape.batch.micro_batch * (shape.one_process ? shape.batch.replicas : 1);
  return static_cast<Bytes>((workers + 1) * samples) *
         static_cast<Bytes>(context.graph.input_shape.elements()) *
         bytes_of(shape.lowering().data_type());
}

}  // namespace

ResidentMemory memory_in_use(const Device& device) {
  const auto own = device.own_memory();
  return own ? ResidentMemory{.own = own->now} : resident_memory();
}

ResidentMemory peak_memory(const Device& device) {
  const auto own = device.own_memory();
  return own ? ResidentMemory{.own = own->peak} : peak_resident_memory();
}

void reset_peak_memory(Device& device) {
  device.reset_peak_memory();
  if (!device.own_memory()) reset_peak_resident_memory();
}

void predict_memory(const ProgramPlan& plan, const TrainingContext& context,
                    const TrainingShape& shape, RankFacts& facts) {
  (void)layout_digest(plan);            // loads the code that brings weights into their layouts
  reset_peak_memory(context.device());  // and gives its memory back
  facts.code = growth(facts.before, memory_in_use(context.device()));
  MemorySource& memory = context.device().memory();
  const MemoryPrediction data = plan.memory(shape.optimizer, shape.step().gradient_use(), memory);
  facts.data_bytes = data.total();
  if (!context.device().own_memory()) facts.data_bytes += staged_bytes(context, shape);
  if (shape.one_process)
    facts.data_bytes +=
        dp_memory(plan, shape.batch.replicas, memory, context.device().shares_memory_with_host());
}

MemoryRecord memory_of(std::span<const RankFacts> ranks, Bytes arenas) {
  const auto together = [ranks](ResidentMemory RankFacts::* part) {
    Bytes own = 0;
    Bytes files = 0;
    for (const RankFacts& rank : ranks) {
      own += (rank.*part).own;
      files = std::max(files, (rank.*part).files);
    }
    return own + files;
  };
  Bytes data = 0;
  for (const RankFacts& rank : ranks) data += rank.data_bytes;
  return {.before_bytes = together(&RankFacts::before),
          .peak_bytes = together(&RankFacts::peak) + arenas,
          .predicted_bytes = together(&RankFacts::code) + data};
}

/// A memfd has blocks for the pages that were touched (fstat(2) counts them in 512 bytes).
Bytes used_bytes(const SharedRegion& region) {
  constexpr Bytes kBlock = 512;
  struct stat status{};
  if (fstat(region.descriptor(), &status) != 0) return 0;
  return static_cast<Bytes>(status.st_blocks) * kBlock;
}

std::vector<RankFacts> gather_facts(ControlChannel& control, const RankFacts& own,
                                    Communicator::Timeout timeout) {
  std::vector<RankFacts> all;
  if (control.rank() == 0) all.resize(static_cast<std::size_t>(control.world_size()));
  control.gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)), 0,
                 timeout);
  return all;
}

}  // namespace ptbench
