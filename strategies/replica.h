#pragma once

#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "src/data/batch_loader.h"
#include "workloads/program.h"

namespace ptbench {

/// One full copy of a model on one device, with its optimizer and its share of the data. What
/// strategies work with: they see slices of arenas, not layers.
class Replica {
 public:
  /// `arenas` provides parameters, gradients and optimizer state, `memory` the rest. Backend, both
  /// sources and their devices outlive the replica.
  Replica(std::shared_ptr<const ProgramPlan> plan, const KernelBackend& backend,
          const OptimizerSpec& optimizer, MemorySource& arenas, MemorySource& memory);

  [[nodiscard]] Program& program() { return program_; }
  /// The whole arena, as one slice.
  [[nodiscard]] Range all() const { return {0, program_.plan().arena_elements()}; }

  /// Takes its micro-batches from `loader`, which fills program().input() and labels().
  void attach(std::unique_ptr<BatchLoader> loader) { loader_ = std::move(loader); }
  [[nodiscard]] const BatchLoader& loader() const { return *loader_; }

  /// The next micro-batch, into the program's input.
  void load() { loader_->next(); }
  /// The micro-batch's share of the global batch's mean loss.
  float forward() { return program_.forward(); }
  /// Announces slices of the gradient arena as they become final.
  void backward(Program::GradientsReady ready) { program_.backward(ready); }
  /// Updates the parameters of `slice`; `step` counts optimizer steps from 1.
  void optimizer_step(Range slice, Size step) { optimizer_->step(slice, step); }

 private:
  Program program_;
  std::vector<Buffer> state_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<BatchLoader> loader_;
};

}  // namespace ptbench
