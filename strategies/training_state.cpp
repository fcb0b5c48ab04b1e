#include "strategies/training_state.h"

#include <algorithm>
#include <span>
#include <vector>

#include "src/base/error.h"
#include "src/device/host_mirror.h"
#include "workloads/arena_tensors.h"

namespace ptbench {
namespace {

using Mirrors = std::vector<HostMirror<float>>;

/// Parameters first, then optimizer state, which lie alike; as the host sees them.
Mirrors arenas_of(Replica& replica) {
  Mirrors arenas;
  arenas.push_back(read_back(replica.device(), replica.program().parameters()));
  for (const std::span<float> state : replica.optimizer_state())
    arenas.push_back(read_back(replica.device(), state));
  return arenas;
}

void copy_by_tensor(const ProgramPlan& source, const Mirrors& sources, const ProgramPlan& target,
                    const Mirrors& targets) {
  const std::vector<TensorGroup> read = tensor_groups(source);
  const std::vector<TensorGroup> written = tensor_groups(target);
  ensure(read.size() == written.size(), "both trainings are of one graph");
  for (std::size_t i = 0; i < read.size(); ++i)
    for (std::size_t arena = 0; arena < sources.size(); ++arena)
      import_arena(target, written[i], export_arena(source, read[i], sources[arena].values()),
                   targets[arena].values());
}

void copy_arenas(Replica& from, Replica& to) {
  const Mirrors sources = arenas_of(from);
  const Mirrors targets = arenas_of(to);
  ensure(sources.size() == targets.size(), "both trainings have one kind of optimizer");
  const ProgramPlan& source = from.program().plan();
  const ProgramPlan& target = to.program().plan();
  if (source.hash() != target.hash())
    copy_by_tensor(source, sources, target, targets);
  else
    for (std::size_t arena = 0; arena < sources.size(); ++arena)
      std::ranges::copy(sources[arena].values(), targets[arena].values().begin());
  for (const HostMirror<float>& arena : targets) write_back(to.device(), arena);
}

void copy_statistics(Replica& from, Replica& to) {
  const auto source = read_back(from.device(), from.program().running_statistics());
  to.device().finish();
  const HostMirror<float> target(to.device(), to.program().running_statistics());
  ensure(source.values().size() == target.values().size(),
         "both trainings have the same running statistics");
  std::ranges::copy(source.values(), target.values().begin());
  write_back(to.device(), target);
}

}  // namespace

void copy_training_state(Strategy& from, Strategy& to) {
  Replica& source = from.replica();
  Replica& target = to.replica();
  copy_arenas(source, target);
  copy_statistics(source, target);
  target.program().parameters_changed();
  if (source.step().loss_scale == target.step().loss_scale) target.set_scaler(source.scaler());
  to.set_updates(from.updates());
}

}  // namespace ptbench
