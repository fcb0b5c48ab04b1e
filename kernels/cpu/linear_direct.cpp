#include "kernels/cpu/linear_direct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/cpu/simd.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Size kLanes = 16;

/// to[column][row] = from[row][column]; rows of `to` are `stride` long, and what lies behind the
/// last sample stays as it was (zero).
void transpose(const float* __restrict from, Size rows, Size columns, float* __restrict to,
               Size stride) {
  for (Size row = 0; row < rows; ++row)
    for (Size column = 0; column < columns; ++column)
      to[column * stride + row] = from[row * columns + column];
}

/// Pairwise sum of the lanes: the same order on every instruction set.
float total(std::array<float, kLanes>& lanes) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/// Σ a·b over `count` values (a multiple of 16), summed in 16 lanes.
float dot(const float* __restrict a, const float* __restrict b, Size count) {
  std::array<float, kLanes> lanes{};
  for (Size i = 0; i < count; i += kLanes)
    for (Size lane = 0; lane < kLanes; ++lane)
      lanes[static_cast<std::size_t>(lane)] += a[i + lane] * b[i + lane];
  return total(lanes);
}

float sum(const float* values, Size count) {
  std::array<float, kLanes> lanes{};
  for (Size i = 0; i < count; i += kLanes)
    for (Size lane = 0; lane < kLanes; ++lane)
      lanes[static_cast<std::size_t>(lane)] += values[i + lane];
  return total(lanes);
}

/// to[i] += factor · from[i].
void add_scaled(float factor, const float* __restrict from, float* __restrict to, Size count) {
  for (Size i = 0; i < count; ++i) to[i] += factor * from[i];
}

class DirectLinear final : public Operator {
 public:
  DirectLinear(const LinearSpec& spec, Isa isa, const Bindings& bindings)
      : spec_(spec), isa_(isa), bindings_(bindings), stride_(round_up(spec.batch, kLanes)) {
    input_ = reinterpret_cast<float*>(bindings.saved.data());
    output_ = input_ + spec.inputs * stride_;
    gradient_ = output_ + spec.outputs * stride_;
    input_gradient_ = gradient_ + spec.outputs * stride_;
    input_rows_ = elements<float>(bindings.inputs[0]).data();
    output_rows_ = elements<float>(bindings.output).data();
    output_gradient_rows_ = elements<float>(bindings.output_gradients[0]).data();
    if (spec.input_gradient)
      input_gradient_rows_ = elements<float>(bindings.input_gradients[0]).data();
  }

  /// Floats of saved memory.
  static Size saved_elements(const LinearSpec& spec) {
    const Size stride = round_up(spec.batch, kLanes);
    return stride * (spec.inputs + 2 * spec.outputs + (spec.input_gradient ? spec.inputs : 0));
  }

  void forward() override {
    simd::run(isa_, [this] { forward_loops(); });
  }
  void backward(GradientMode mode) override {
    simd::run(isa_, [this, adds = mode == GradientMode::add] { backward_loops(adds); });
  }

 private:
  void forward_loops() {
    const float* weight = bindings_.parameters.data();
    const float* bias = weight + spec_.outputs * spec_.inputs;
    transpose(input_rows_, spec_.batch, spec_.inputs, input_, stride_);
    for (Size out = 0; out < spec_.outputs; ++out) {
      float* row = output_ + out * stride_;
      std::fill_n(row, stride_, bias[out]);
      for (Size in = 0; in < spec_.inputs; ++in)
        add_scaled(weight[out * spec_.inputs + in], input_ + in * stride_, row, stride_);
      if (spec_.relu)
        for (Size i = 0; i < stride_; ++i) row[i] = row[i] < 0 ? 0.0F : row[i];  // NaN stays
    }
    for (Size sample = 0; sample < spec_.batch; ++sample)
      for (Size out = 0; out < spec_.outputs; ++out)
        output_rows_[sample * spec_.outputs + out] = output_[out * stride_ + sample];
  }

  void backward_loops(bool adds) {
    transpose(output_gradient_rows_, spec_.batch, spec_.outputs, gradient_, stride_);
    if (spec_.relu)
      for (Size i = 0; i < spec_.outputs * stride_; ++i)
        gradient_[i] = output_[i] <= 0 ? 0.0F : gradient_[i];  // NaN opens
    float* weight_gradient = bindings_.gradients.data();
    float* bias_gradient = weight_gradient + spec_.outputs * spec_.inputs;
    const auto put = [adds](float value, float& gradient) {
      gradient = adds ? gradient + value : value;
    };
    for (Size out = 0; out < spec_.outputs; ++out) {
      const float* row = gradient_ + out * stride_;
      for (Size in = 0; in < spec_.inputs; ++in)
        put(dot(row, input_ + in * stride_, stride_), weight_gradient[out * spec_.inputs + in]);
      put(sum(row, stride_), bias_gradient[out]);
    }
    if (spec_.input_gradient) backward_input();
  }

  void backward_input() {
    const float* weight = bindings_.parameters.data();
    for (Size in = 0; in < spec_.inputs; ++in) {
      float* row = input_gradient_ + in * stride_;
      std::fill_n(row, stride_, 0.0F);
      for (Size out = 0; out < spec_.outputs; ++out)
        add_scaled(weight[out * spec_.inputs + in], gradient_ + out * stride_, row, stride_);
    }
    for (Size sample = 0; sample < spec_.batch; ++sample)
      for (Size in = 0; in < spec_.inputs; ++in)
        input_gradient_rows_[sample * spec_.inputs + in] = input_gradient_[in * stride_ + sample];
  }

  LinearSpec spec_;
  Isa isa_;
  Bindings bindings_;
  Size stride_;                           ///< floats of a transposed row
  float* input_;                          ///< inputs × stride
  float* output_;                         ///< outputs × stride
  float* gradient_;                       ///< outputs × stride, of the output
  float* input_gradient_;                 ///< inputs × stride
  const float* input_rows_;               ///< batch × inputs
  float* output_rows_;                    ///< batch × outputs
  const float* output_gradient_rows_;     ///< batch × outputs
  float* input_gradient_rows_ = nullptr;  ///< batch × inputs
};

class DirectLinearPlan final : public OperatorPlan {
 public:
  DirectLinearPlan(const LinearSpec& spec, Isa isa) : spec_(spec), isa_(isa) {}

  [[nodiscard]] ParameterLayout layout() const override {
    const Size elements = round_up(spec_.outputs * (spec_.inputs + 1), kLanes);
    return {.elements = elements, .owned = {{.range = {0, elements}, .member = 0}}};
  }
  [[nodiscard]] Bytes saved_bytes() const override {
    return float_bytes(DirectLinear::saved_elements(spec_));
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("direct {}", name_of(isa_));
  }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    std::ranges::copy(tensors[0], arena.begin());
    std::ranges::copy(tensors[1], arena.begin() + spec_.outputs * spec_.inputs);
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    std::ranges::copy(arena.first(tensors[0].size()), tensors[0].begin());
    std::ranges::copy(arena.subspan(tensors[0].size(), tensors[1].size()), tensors[1].begin());
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return std::make_unique<DirectLinear>(spec_, isa_, bindings);
  }

 private:
  LinearSpec spec_;
  Isa isa_;
};

}  // namespace

std::unique_ptr<OperatorPlan> plan_linear_direct(const LinearSpec& spec, Isa isa) {
  return std::make_unique<DirectLinearPlan>(spec, isa);
}

}  // namespace ptbench
