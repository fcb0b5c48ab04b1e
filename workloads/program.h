#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/choose.h"
#include "src/base/function_ref.h"
#include "src/device/device.h"
#include "src/device/host_mirror.h"
#include "src/device/memory.h"
#include "workloads/graph.h"
#include "workloads/lower.h"
#include "workloads/memory.h"
#include "workloads/slot.h"
#include "workloads/weights_file.h"

namespace ptbench {

/// A graph planned for one device: which operator runs how, and where everything lies. A pure
/// function of its arguments; holds no memory for data.
class ProgramPlan {
 public:
  ProgramPlan(const Graph& graph, const Lowering& lowering, const KernelBackend& backend,
              const Choices& choices);

  struct Step {
    std::unique_ptr<OperatorPlan> plan;
    Range arena;          ///< its slice of the parameter and gradient arenas
    Range passing;        ///< where its gradients lie in the memory of those that pass
    Range buffers;        ///< its slice of the running statistics
    Bytes prepared = 0;   ///< where its part of the prepared memory begins
    Bytes saved = 0;      ///< where its part of a slot's saved memory begins
    bool trained = true;  ///< whether it has anything to do in a backward pass
  };
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// The operator of each step, and the tensors between them.
  [[nodiscard]] const LoweredGraph& graph() const { return graph_; }
  [[nodiscard]] const ActivationMemory& activations() const { return activations_; }
  [[nodiscard]] const KernelBackend& backend() const { return *backend_; }
  [[nodiscard]] Size batch() const { return lowering_.batch; }
  [[nodiscard]] Size classes() const { return classes_; }
  /// Floats of one arena. Slices lie in the order in which backward finishes them: the last
  /// operator's first.
  [[nodiscard]] Size arena_elements() const { return arena_elements_; }
  /// Floats of the memory of gradients that pass, which the operators share.
  [[nodiscard]] Size passing_elements() const { return passing_elements_; }
  /// Floats of the running statistics, in forward order.
  [[nodiscard]] Size buffer_elements() const { return buffer_elements_; }
  /// Who computes and updates which part of the arena, ascending.
  [[nodiscard]] const std::vector<OwnedRange>& owned() const { return owned_; }
  /// Whole names ("bn1.weight", "bn1.running_mean"), in forward order, an operator's parameters
  /// before its running statistics.
  [[nodiscard]] const std::vector<ParameterSpec>& tensors() const { return tensors_; }
  /// Operations of a micro-batch's forward and backward pass, as the chosen operators execute them.
  [[nodiscard]] double executed_flops() const;
  /// What all operators make of their parameters.
  [[nodiscard]] Bytes prepared_bytes() const { return prepared_bytes_; }
  /// What all operators keep of a micro-batch from forward to backward.
  [[nodiscard]] Bytes saved_bytes() const { return saved_bytes_; }
  /// What the operator that needs most scratch memory needs.
  [[nodiscard]] Bytes scratch_bytes() const;
  /// What the operator that needs most memory to add gradients needs.
  [[nodiscard]] Bytes addend_bytes() const;
  /// Of a tensor of graph() in the memory of activations.
  [[nodiscard]] Bytes tensor_bytes(Size tensor) const;
  /// `gradients`, `source` and `slots`: as of the Program.
  [[nodiscard]] MemoryPrediction memory(const OptimizerSpec& optimizer, GradientUse gradients,
                                        const MemorySource& source, Size slots = 1) const;
  /// The choices of all operators that were chosen, these among them.
  [[nodiscard]] const Choices& choices() const { return choices_; }
  /// 16 hexadecimal digits over everything that decides layout and arithmetic. Ranks must agree.
  [[nodiscard]] const std::string& hash() const { return hash_; }

 private:
  void add_tensors(const Graph& graph, const LoweredOperator& lowered);
  void lay_out_arena();
  void lay_out_passing();

  Lowering lowering_;
  Size classes_;
  const KernelBackend* backend_;
  Choices choices_;
  LoweredGraph graph_;
  std::vector<Step> steps_;
  ActivationMemory activations_;
  Size arena_elements_ = 0;
  Size passing_elements_ = 0;
  Size buffer_elements_ = 0;
  Bytes prepared_bytes_ = 0;
  Bytes saved_bytes_ = 0;
  std::vector<OwnedRange> owned_;
  std::vector<ParameterSpec> tensors_;
  std::string hash_;
};

/// A plan with memory: runs steps, and allocates nothing while it does. Passes give their work to
/// the device's queue for computing and return; what they read and write is the device's until
/// then, so spans of device memory are for operators, copies and communicators, and the host looks
/// through mirrors (read_back).
///
/// It has its state once (parameters, gradients, what operators prepare of parameters, running
/// statistics), and slots for micro-batches that are on their way: each may be between its forward
/// and its backward pass at the same time as the others. Slots are numbered from 0.
class Program {
 public:
  /// Records in the device's queue where gradients became final, so that others can wait for it.
  /// Valid while they are announced, and its event until the next ones are.
  using ReadyMark = FunctionRef<const Event&()>;
  using GradientsReady = FunctionRef<void(Range slice, ReadyMark ready)>;

  /// `arenas` provides parameters, gradients and losses in memory of the plan's device (ranks may
  /// share them), the device the rest. The plan's backend and its device outlive the program.
  Program(std::shared_ptr<const ProgramPlan> plan, MemorySource& arenas,
          GradientUse use = GradientUse::kept, Size slots = 1);
  /// Waits for the device.
  ~Program() { finish_quietly(device_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const ProgramPlan& plan() const { return *plan_; }
  [[nodiscard]] Device& device() const { return device_; }

  /// Where the host puts the next micro-batch: batch × sample elements of the lowering's
  /// data_type(), and one label a sample. Blocks the host until it may be written.
  [[nodiscard]] BatchRoom await_room(Size slot = 0) const { return at(slot).feed->await_room(); }
  /// Gives what the host has put there to the passes to come. On a device with memory of its own it
  /// travels while the passes before still compute, and the next one is put elsewhere.
  void send_batch(Size slot = 0) { at(slot).feed->send(); }
  /// Where the passes find their micro-batch, in the device's memory, as in a room.
  [[nodiscard]] std::span<std::byte> device_input(Size slot = 0) const {
    return tensor_memory(at(slot), kDataTensor);
  }
  [[nodiscard]] std::span<std::int32_t> device_labels(Size slot = 0) const {
    return at(slot).labels.as<std::int32_t>();
  }

  // In the device's memory.

  [[nodiscard]] std::span<float> parameters() const { return parameters_.as<float>(); }
  [[nodiscard]] GradientUse gradient_use() const { return gradient_use_; }
  /// Of all parameters, unless gradients pass.
  [[nodiscard]] std::span<float> gradients() const;
  /// Of a slice of the arena; where gradients pass, of the one that backward announces.
  [[nodiscard]] std::span<float> gradients_of(Range slice) const;
  /// The means and variances of batch norms, in forward order.
  [[nodiscard]] std::span<float> running_statistics() const { return buffers_.as<float>(); }
  /// One element: the micro-batch's share of the global batch's mean loss, where there is one.
  [[nodiscard]] std::span<float> loss(Size slot = 0) const { return at(slot).loss; }

  /// To be called when parameters() were changed from outside, before the next pass.
  void parameters_changed() { is_stale_.assign(is_stale_.size(), true); }
  /// The same where only these elements were changed.
  void parameters_changed(Range slice);
  /// Stores 1 in `found`, one element of device memory, where a gradient of `slices` is not finite,
  /// else 0.
  void find_non_finite(std::span<const Range> slices, std::span<float> found) {
    passes_->find_non_finite(slices, found);
  }
  /// Stores the sum of `terms`, added up in double precision, in `sum`, one element; all of them in
  /// the device's memory.
  void add_up(std::span<const float> terms, std::span<float> sum) { passes_->add_up(terms, sum); }
  /// What gradients are multiplied by, from the loss on; 1 at first. Another scale than before
  /// waits for the device.
  void set_loss_scale(float scale) { set_value(device_, loss_scale_, scale); }

  /// With the micro-batch that was sent to the slot.
  void forward(Size slot = 0);
  /// As a trained model computes: with the running statistics, which stay as they are.
  void evaluate(Size slot = 0);
  /// After `forward` in the same slot. Calls `ready` with each slice of the gradient arena as it
  /// becomes final.
  void backward(GradientMode mode, GradientsReady ready) { backward(0, mode, ready); }
  void backward(Size slot, GradientMode mode, GradientsReady ready);
  /// As backward(GradientMode::replace, ready), but operators that can do so have `update` update
  /// their parameters in the midst of their passes, and their gradients are not announced. A piece
  /// is one of the arena. `keep_gradients`: theirs are in gradients() afterwards, as all others
  /// are. Of a program with one slot: another micro-batch on its way has seen other parameters.
  void backward_and_update(bool keep_gradients, UpdatePiece update, GradientsReady ready);

  /// What left in the last forward pass or `evaluate` (logits: batch × classes values), on the
  /// host, for which this waits.
  void read_logits(std::span<float> values, Size slot = 0) const;

  // The same passes for a loss that is computed elsewhere.

  /// `forward` without the loss.
  void forward_layers(Size slot = 0);
  /// What leaves the last layer, of the lowering's type; logits are batch × classes, row-major.
  /// Valid from the forward to the backward pass.
  [[nodiscard]] std::span<const std::byte> leaving(Size slot = 0) const;
  /// Where the gradient of what left is to be written, in its layout, between the two passes; empty
  /// where nothing is trained.
  [[nodiscard]] std::span<std::byte> leaving_gradient(Size slot = 0) const;
  /// `backward` from the gradient that lies there.
  void backward_layers(GradientMode mode, GradientsReady ready, Size slot = 0);

  /// Draws all parameters from (seed, name, index), and resets the running statistics.
  void initialise(std::uint64_t seed);
  /// Tensors in the order of plan().tensors(), with those names and shapes.
  void import_tensors(const std::vector<NamedTensor>& values);
  [[nodiscard]] std::vector<NamedTensor> export_tensors() const;

 private:
  [[nodiscard]] const Slot& at(Size slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::span<std::byte> tensor_memory(const Slot& slot, Size tensor) const;
  [[nodiscard]] std::span<std::byte> gradient_memory(const Slot& slot, const Use& use) const;
  [[nodiscard]] std::span<std::byte> leaving_gradient(const Slot& slot) const;
  /// The gradients of an operator's output, by who reads it.
  [[nodiscard]] std::vector<std::span<const std::byte>> output_gradients(
      const Slot& slot, Size output, const std::vector<Use>& uses) const;
  [[nodiscard]] Bindings bindings_of(const Slot& slot, std::size_t step,
                                     const std::vector<std::vector<Use>>& uses) const;
  /// Memory and feed of slot number `index`; its operators are bound later.
  [[nodiscard]] Slot make_slot(Size index);
  void mirror_loss_scale(Size slots);
  void refresh();
  template <class Backward>
  void run_backward(const Slot& slot, GradientsReady ready, const Backward& backward);
  /// run_operator of the loss, where there is one.
  template <class Work>
  void run_loss(const Slot& slot, const char* pass, const Work& work);
  /// work(operator), whose error names operator and pass.
  template <class Work>
  void run_operator(const Slot& slot, std::size_t index, const char* pass, const Work& work);
  /// Parameters and running statistics of one step; `next` gives the tensors in their order, each
  /// of so many elements, all valid until it returns.
  void import_step(std::size_t step, FunctionRef<std::span<const float>(Size)> next);

  std::shared_ptr<const ProgramPlan> plan_;
  Device& device_;
  Queue& queue_;       ///< for computing
  bool is_immediate_;  ///< the queue: nothing needs to be waited for
  Buffer parameters_;
  GradientUse gradient_use_;
  Buffer gradients_;
  Buffer buffers_;  ///< running statistics
  Buffer cells_;    ///< a line each: the slots' losses, and their scale
  Buffer prepared_;
  Buffer scratch_;
  Buffer addends_;  ///< empty where nothing accumulates
  HostMirror<float> loss_scale_;
  std::unique_ptr<Event> gradients_ready_;  ///< recorded for each slice
  std::vector<Slot> slots_;
  std::unique_ptr<ArenaPasses> passes_;
  /// One an operator: its parameters were changed from outside since its last pass.
  std::vector<bool> is_stale_;
};

}  // namespace ptbench
