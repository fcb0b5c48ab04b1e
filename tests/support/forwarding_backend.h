#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backend.h"

// What backends share that bind another backend's operators to other memory.
namespace ptbench::testing {

/// `bindings` with `move(span)` in place of each span.
template <class Move>
[[nodiscard]] Bindings moved(Bindings bindings, const Move& move) {
  const auto each = [&](auto&... spans) { ((spans = move(spans)), ...); };
  for (auto& input : bindings.inputs) each(input);
  for (auto& gradient : bindings.output_gradients) each(gradient);
  for (auto& gradient : bindings.input_gradients) each(gradient);
  each(bindings.output, bindings.parameters, bindings.gradients, bindings.buffers, bindings.labels,
       bindings.loss, bindings.loss_scale, bindings.prepared, bindings.saved, bindings.scratch,
       bindings.addends);
  return bindings;
}

/// The same of an optimizer's arenas.
template <class Move>
[[nodiscard]] OptimizerArenas moved(OptimizerArenas arenas, const Move& move) {
  arenas.parameters = move(arenas.parameters);
  arenas.gradients = move(arenas.gradients);
  for (auto& state : arenas.state) state = move(state);
  arenas.skip = move(arenas.skip);
  return arenas;
}

/// A plan like its inner one in all but how it is bound.
class ForwardingPlan : public OperatorPlan {
 public:
  explicit ForwardingPlan(std::unique_ptr<OperatorPlan> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] ParameterLayout layout() const final { return inner_->layout(); }
  [[nodiscard]] Bytes prepared_bytes() const final { return inner_->prepared_bytes(); }
  [[nodiscard]] Bytes saved_bytes() const final { return inner_->saved_bytes(); }
  [[nodiscard]] Bytes scratch_bytes() const final { return inner_->scratch_bytes(); }
  [[nodiscard]] Bytes addend_bytes() const final { return inner_->addend_bytes(); }
  [[nodiscard]] std::string description() const final { return inner_->description(); }
  [[nodiscard]] std::optional<Flops> executed_flops() const final {
    return inner_->executed_flops();
  }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const final {
    inner_->import_parameters(tensors, arena);
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const final {
    inner_->export_parameters(arena, tensors);
  }

 protected:
  [[nodiscard]] const OperatorPlan& inner() const { return *inner_; }

 private:
  std::unique_ptr<OperatorPlan> inner_;
};

/// A backend like its inner one in what it tells of tensors and candidates.
class ForwardingBackend : public KernelBackend {
 public:
  [[nodiscard]] std::string fingerprint() const final { return inner().fingerprint(); }
  [[nodiscard]] Bytes bytes_of(const TensorSpec& tensor) const final {
    return inner().bytes_of(tensor);
  }
  void import_tensor(const TensorSpec& tensor, std::span<const float> row_major,
                     std::span<std::byte> memory) const final {
    inner().import_tensor(tensor, row_major, memory);
  }
  void export_tensor(const TensorSpec& tensor, std::span<const std::byte> memory,
                     std::span<float> row_major) const final {
    inner().export_tensor(tensor, memory, row_major);
  }
  [[nodiscard]] std::vector<std::string> candidates(const OperatorSpec& spec) const final {
    return inner().candidates(spec);
  }
  [[nodiscard]] std::string safest_candidate(const OperatorSpec& spec) const final {
    return inner().safest_candidate(spec);
  }
  [[nodiscard]] bool has_candidate(const OperatorSpec& spec,
                                   std::string_view candidate) const final {
    return inner().has_candidate(spec, candidate);
  }

 protected:
  [[nodiscard]] virtual const KernelBackend& inner() const = 0;
};

}  // namespace ptbench::testing
