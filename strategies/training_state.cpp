#include "strategies/training_state.h"

#include <algorithm>
#include <span>
#include <vector>

#include "src/base/error.h"
#include "workloads/arena_tensors.h"

namespace ptbench {
namespace {

/// Arenas that lie alike: parameters first, then optimizer state.
std::vector<std::span<float>> arenas_of(Replica& replica) {
  std::vector<std::span<float>> arenas = replica.optimizer_state();
  arenas.insert(arenas.begin(), replica.program().parameters());
  return arenas;
}

void copy_by_tensor(Replica& from, Replica& to) {
  const ProgramPlan& source = from.program().plan();
  const ProgramPlan& target = to.program().plan();
  const auto sources = arenas_of(from);
  const auto targets = arenas_of(to);
  const std::vector<TensorGroup> read = tensor_groups(source);
  const std::vector<TensorGroup> written = tensor_groups(target);
  ensure(read.size() == written.size(), "both trainings are of one graph");
  for (std::size_t i = 0; i < read.size(); ++i)
    for (std::size_t arena = 0; arena < sources.size(); ++arena)
      import_arena(target, written[i], export_arena(source, read[i], sources[arena]),
                   targets[arena]);
}

void copy_arenas(Replica& from, Replica& to) {
  const auto sources = arenas_of(from);
  const auto targets = arenas_of(to);
  ensure(sources.size() == targets.size(), "both trainings have one kind of optimizer");
  if (from.program().plan().hash() != to.program().plan().hash()) {
    copy_by_tensor(from, to);
    return;
  }
  for (std::size_t arena = 0; arena < sources.size(); ++arena)
    std::ranges::copy(sources[arena], targets[arena].begin());
}

}  // namespace

void copy_training_state(Strategy& from, Strategy& to) {
  Replica& source = from.replica();
  Replica& target = to.replica();
  copy_arenas(source, target);
  const std::span<float> statistics = source.program().running_statistics();
  ensure(statistics.size() == target.program().running_statistics().size(),
         "both trainings have the same running statistics");
  std::ranges::copy(statistics, target.program().running_statistics().begin());
  target.program().parameters_changed();
  if (source.step().loss_scale == target.step().loss_scale) target.set_scaler(source.scaler());
  to.set_updates(from.updates());
}

}  // namespace ptbench
