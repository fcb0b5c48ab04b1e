#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/choose.h"
#include "src/base/function_ref.h"
#include "src/device/memory.h"
#include "workloads/graph.h"
#include "workloads/weights_file.h"

namespace ptbench {

/// One operator of a lowered graph. Operators are a chain: each takes the output of the one before.
struct LoweredOperator {
  OperatorSpec spec;
  std::string node;  ///< whose parameters these are
};

/// The operators of `graph` for a micro-batch, in forward order, the loss last. A ReLU that alone
/// uses a linear layer's output becomes part of it. `global_batch`: samples over which the loss is
/// a mean.
[[nodiscard]] std::vector<LoweredOperator> lower(const Graph& graph, Size batch, Size global_batch);

/// Bytes by what they are for; all of them allocated before the first step.
struct MemoryPrediction {
  Bytes parameters = 0;
  Bytes gradients = 0;
  Bytes optimizer = 0;
  Bytes activations = 0;  ///< with their gradients
  Bytes workspace = 0;
  [[nodiscard]] Bytes total() const {
    return parameters + gradients + optimizer + activations + workspace;
  }
};

/// From shapes alone, before anything is timed or allocated; workspaces are left out.
/// Saturates instead of overflowing.
[[nodiscard]] MemoryPrediction estimate_memory(const Graph& graph, Size batch,
                                               const OptimizerSpec& optimizer);

/// A graph planned for one device: which operator runs how, and where its parameters lie in the
/// arena. A pure function of its arguments; holds no memory for data.
class ProgramPlan {
 public:
  ProgramPlan(const Graph& graph, Size batch, Size global_batch, const KernelBackend& backend,
              const Choices& choices);

  struct Step {
    LoweredOperator lowered;
    std::unique_ptr<OperatorPlan> plan;
    Range arena;  ///< its slice of the parameter and gradient arenas
    Size input_elements = 0;
    Size output_elements = 0;  ///< 0 for the loss
  };
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] Size batch() const { return batch_; }
  [[nodiscard]] Size classes() const { return classes_; }
  /// Floats of one arena. Slices lie in the order in which backward finishes them: the last
  /// operator's first.
  [[nodiscard]] Size arena_elements() const { return arena_elements_; }
  /// Who computes and updates which part of the arena, ascending.
  [[nodiscard]] const std::vector<OwnedRange>& owned() const { return owned_; }
  /// Whole names ("fc1.weight"), in forward order.
  [[nodiscard]] const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  [[nodiscard]] MemoryPrediction memory(const OptimizerSpec& optimizer) const;
  /// 16 hexadecimal digits over everything that decides layout and arithmetic. Ranks must agree.
  [[nodiscard]] const std::string& hash() const { return hash_; }

 private:
  void lay_out_arena();

  Size batch_;
  Size classes_;
  std::vector<Step> steps_;
  Size arena_elements_ = 0;
  std::vector<OwnedRange> owned_;
  std::vector<ParameterSpec> parameters_;
  std::string hash_;
};

/// A plan with memory: runs steps, and allocates nothing while it does.
class Program {
 public:
  using GradientsReady = FunctionRef<void(Range slice)>;

  /// `arenas` provides parameters and gradients (ranks may share them), `memory` the rest. Device
  /// and backend of the plan outlive the program.
  Program(std::shared_ptr<const ProgramPlan> plan, MemorySource& arenas, MemorySource& memory);

  [[nodiscard]] const ProgramPlan& plan() const { return *plan_; }
  /// Where the next micro-batch goes: batch × sample elements, and one label a sample.
  [[nodiscard]] std::span<float> input() const { return input_; }
  [[nodiscard]] std::span<std::int32_t> labels() const { return labels_.as<std::int32_t>(); }
  /// batch × classes, after `forward`.
  [[nodiscard]] std::span<const float> logits() const;
  [[nodiscard]] std::span<float> parameters() const { return parameters_.as<float>(); }
  [[nodiscard]] std::span<float> gradients() const { return gradients_.as<float>(); }

  /// This micro-batch's share of the global batch's mean loss.
  float forward();
  /// After `forward`. Calls `ready` with each slice of the gradient arena as it becomes final.
  void backward(GradientsReady ready);

  /// Draws all parameters from (seed, name, index).
  void initialise(std::uint64_t seed);
  /// Tensors in the order of plan().parameters(), with those names and shapes.
  void import_parameters(const std::vector<NamedTensor>& values);
  [[nodiscard]] std::vector<NamedTensor> export_parameters() const;

 private:
  void carve_activations();
  void bind();

  std::shared_ptr<const ProgramPlan> plan_;
  Buffer parameters_;
  Buffer gradients_;
  Buffer labels_;
  Buffer loss_;
  Buffer activations_;  ///< in one piece, so that it lies on few, large pages
  std::span<float> input_;
  std::vector<std::span<float>> outputs_;           ///< one an operator; empty for the loss
  std::vector<std::span<float>> output_gradients_;  ///< likewise
  Buffer workspace_;  ///< operators run one after another, but keep what backward needs
  std::vector<std::unique_ptr<Operator>> operators_;
};

}  // namespace ptbench
