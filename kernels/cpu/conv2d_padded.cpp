#include "kernels/cpu/conv2d_padded.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cpu/image.h"
#include "kernels/cpu/operators.h"
#include "src/base/error.h"

namespace ptbench::conv2d {
namespace {

constexpr Bytes kImageAlignment = 128;  // a pair of cache lines

/// Weights without and with padding: outputs × inputs × window, row-major.
struct Weights {
  Size outputs;
  Size inputs;
  Size window;

  explicit Weights(const Conv2dSpec& spec)
      : outputs(spec.outputs),
        inputs(spec.input.channels),
        window(spec.window.kernel_height * spec.window.kernel_width) {}
  [[nodiscard]] Size elements() const { return outputs * inputs * window; }
};

/// Every output's row to the row of the other, which is longer or shorter by zeros.
void copy_weights(const Weights& from_shape, std::span<const float> from, const Weights& to_shape,
                  std::span<float> to) {
  const Size row = std::min(from_shape.inputs, to_shape.inputs) * from_shape.window;
  for (Size output = 0; output < std::min(from_shape.outputs, to_shape.outputs); ++output)
    std::copy_n(from.begin() + output * from_shape.inputs * from_shape.window, row,
                to.begin() + output * to_shape.inputs * to_shape.window);
}

/// A convolution behind what brings its plain input into order.
class PaddedConv2d final : public Operator {
 public:
  PaddedConv2d(std::unique_ptr<Operator> entry, std::unique_ptr<Operator> convolution)
      : entry_(std::move(entry)), convolution_(std::move(convolution)) {}

  void forward() override {
    entry_->forward();
    convolution_->forward();
  }
  void backward(GradientMode mode) override {
    convolution_->backward(mode);
    entry_->backward(mode);
  }

 private:
  std::unique_ptr<Operator> entry_;
  std::unique_ptr<Operator> convolution_;
};

class PaddedConv2dPlan final : public OperatorPlan {
 public:
  PaddedConv2dPlan(const Conv2dSpec& spec, std::unique_ptr<OperatorPlan> plan, Team& team, Isa isa)
      : spec_(spec), padded_(padded(spec)), plan_(std::move(plan)) {
    if (!spec.plain_input) return;
    const TensorSpec plain = tensors_of(spec).inputs.front();
    entry_ = plan_operator(
        ReorderSpec{
            .from = plain,
            .to = {.shape = plain.shape, .type = plain.type, .format = TensorFormat::native},
            .input_gradient = spec.input_gradient},
        team, isa);
  }

  [[nodiscard]] ParameterLayout layout() const override { return plan_->layout(); }
  [[nodiscard]] Bytes prepared_bytes() const override { return plan_->prepared_bytes(); }
  [[nodiscard]] Bytes saved_bytes() const override { return image_bytes(); }
  [[nodiscard]] Bytes scratch_bytes() const override {
    return round_up(plan_->scratch_bytes(), kImageAlignment) +
           (spec_.input_gradient ? image_bytes() : 0);
  }
  [[nodiscard]] Bytes addend_bytes() const override { return plan_->addend_bytes(); }
  [[nodiscard]] std::string description() const override {
    return plan_->description() + (entry_ == nullptr ? "" : " | " + entry_->description());
  }
  /// Products with padding are nobody's: they do not count.
  [[nodiscard]] std::optional<Flops> executed_flops() const override { return flops_of(spec_); }

  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    check(tensors.size());
    const Weights whole(padded_);
    std::vector<float> weights(static_cast<std::size_t>(whole.elements()));
    std::vector<float> biases(static_cast<std::size_t>(padded_.outputs));
    copy_weights(Weights(spec_), tensors[0], whole, weights);
    if (!spec_.bias)
      return plan_->import_parameters(std::array<std::span<const float>, 1>{weights}, arena);
    std::ranges::copy(tensors[1], biases.begin());
    plan_->import_parameters(std::array<std::span<const float>, 2>{weights, biases}, arena);
  }

  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    check(tensors.size());
    const Weights whole(padded_);
    std::vector<float> weights(static_cast<std::size_t>(whole.elements()));
    std::vector<float> biases(static_cast<std::size_t>(padded_.outputs));
    if (spec_.bias)
      plan_->export_parameters(arena, std::array<std::span<float>, 2>{weights, biases});
    else
      plan_->export_parameters(arena, std::array<std::span<float>, 1>{weights});
    copy_weights(whole, weights, Weights(spec_), tensors[0]);
    if (spec_.bias) std::copy_n(biases.begin(), spec_.outputs, tensors[1].begin());
  }

  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    if (entry_ == nullptr) return plan_->bind(bindings);
    Bindings inner = bindings;
    Bindings entry;
    const std::span<std::byte> image = bindings.saved.first(image_bytes());
    entry.inputs = {bindings.inputs.front()};
    entry.output = image;
    inner.inputs.front() = image;
    if (spec_.input_gradient && !bindings.input_gradients.empty() &&
        !bindings.input_gradients.front().empty()) {
      const std::span<std::byte> gradient = split(inner.scratch, plan_->scratch_bytes());
      entry.output_gradients = {gradient};
      entry.input_gradients = {bindings.input_gradients.front()};
      inner.input_gradients.front() = gradient;
    } else {
      entry.input_gradients = {{}};
    }
    return std::make_unique<PaddedConv2d>(entry_->bind(entry), plan_->bind(inner));
  }

 private:
  /// Of the input in order, where that is not as it comes.
  [[nodiscard]] Bytes image_bytes() const {
    return entry_ == nullptr
               ? 0
               : static_cast<Bytes>(native_elements(padded_.input)) * bytes_of(padded_.type);
  }
  /// Cuts the image off what lies behind the plan's own memory.
  [[nodiscard]] std::span<std::byte> split(std::span<std::byte>& memory, Bytes own) const {
    const std::span<std::byte> image =
        memory.subspan(round_up(own, kImageAlignment), image_bytes());
    memory = memory.first(own);
    return image;
  }
  void check(std::size_t tensors) const {
    ensure(tensors == (spec_.bias ? 2U : 1U), "a convolution has a weight and maybe a bias");
  }

  Conv2dSpec spec_;
  Conv2dSpec padded_;
  std::unique_ptr<OperatorPlan> plan_;
  std::unique_ptr<OperatorPlan> entry_;  ///< null where the input is native
};

}  // namespace

Conv2dSpec padded(const Conv2dSpec& spec) {
  if (image_order(spec.type) == ImageOrder::blocked) return spec;
  Conv2dSpec padded = spec;
  padded.input.channels = padded_channels(spec.input.channels);
  padded.outputs = padded_channels(spec.outputs);
  padded.plain_input = false;
  return padded;
}

std::unique_ptr<OperatorPlan> plan_padded(const Conv2dSpec& spec,
                                          std::unique_ptr<OperatorPlan> plan, Team& team, Isa isa) {
  return std::make_unique<PaddedConv2dPlan>(spec, std::move(plan), team, isa);
}

}  // namespace ptbench::conv2d
