#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/cuda/arena_kernels.h"
#include "kernels/cuda/bias_gradient.h"
#include "kernels/cuda/casts.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/convolution_plans.h"
#include "kernels/cuda/pixels.h"
#include "kernels/cuda/typed.h"
#include "kernels/cuda/workspace.h"
#include "src/base/error.h"
#include "src/device/cuda/runtime_compiler.h"

namespace ptbench::cuda {
namespace {

constexpr std::size_t kConvolutionAlgorithms = 2;  // of a pass that are offered

using PassPlan = std::shared_ptr<const ConvolutionPlan>;

/// How each pass of a layer is computed.
struct Passes {
  PassPlan forward;
  PassPlan weights;
  PassPlan data;  ///< null where nobody needs the input's gradient

  [[nodiscard]] Bytes workspace() const {
    return std::max(
        {forward->workspace(), weights->workspace(), data ? data->workspace() : Bytes{0}});
  }
};

/// Bytes of so many elements, up to where the next part of a memory begins.
Bytes part(Size elements, Bytes element) {
  return round_up(static_cast<Bytes>(elements) * element, float_bytes(kArenaUnit));
}

/// In how many parts the pixels of an image with a bias are summed side by side. Rows of pixels are
/// read as fewer and longer ones, of as many columns as give blocks to a whole device.
Size parts_of_bias(const Conv2dSpec& spec) {
  constexpr Size kColumns = 8192;
  constexpr Size kRows = 16;  // of a block at once
  const Size pixels = spec.output().batch * spec.output().pixels();
  Size parts = spec.bias ? std::min(kColumns / spec.outputs, pixels / kRows) : 1;
  while (parts > 1 && pixels % parts != 0) --parts;
  return std::max(parts, Size{1});
}

/// Where everything lies: in the arena the weight as cuDNN wants it, then the bias; in the prepared
/// memory both in the type of images; in the saved memory the packed input; in the scratch memory
/// the input's gradient before it is unpacked, then the gradient in front of a rectifier, then
/// parts of the bias's gradient, then the library's workspace.
struct Conv2dLayout {
  explicit Conv2dLayout(const Conv2dSpec& spec)
      : convolution(packed(spec)),
        weights(spec.outputs * convolution.input.channels * spec.window.kernel_height *
                spec.window.kernel_width),
        bias(round_up(weights, kArenaUnit)),
        elements(bias + (spec.bias ? round_up(spec.outputs, kArenaUnit) : 0)),
        input(spec.plain_input ? part(convolution.input.elements(), bytes_of(spec.type)) : 0),
        copy(kept_type(spec.type) == ElementType::f32 ? 0 : part(elements, bytes_of(spec.type))),
        input_gradient(spec.input_gradient ? input : 0),
        open_gradient(spec.relu ? part(spec.output().elements(), bytes_of(spec.type)) : 0),
        bias_parts(parts_of_bias(spec)),
        partial_bias(bias_parts == 1 ? 0 : part(bias_parts * spec.outputs, sizeof(float))) {}

  /// Of the scratch memory, in front of the library's.
  [[nodiscard]] Bytes scratch() const {
    return round_up(input_gradient + open_gradient + partial_bias, kWorkspaceAlignment);
  }

  Conv2dSpec convolution;
  Size weights;  ///< elements
  Size bias;
  Size elements;
  Bytes input;
  Bytes copy;  ///< of weight and bias, as they lie in the arena
  Bytes input_gradient;
  Bytes open_gradient;
  Size bias_parts;
  Bytes partial_bias;
};

template <class T>
class Conv2d final : public Operator {
 public:
  Conv2d(const Conv2dSpec& spec, const Passes& passes, const OperatorSite& site,
         const Bindings& bindings)
      : spec_(spec),
        layout_(spec),
        device_(site.device),
        input_(elements<T>(bindings.inputs[0]).data()),
        packed_input_(spec.plain_input ? elements<T>(bindings.saved).data() : nullptr),
        parameters_(bindings.parameters.data()),
        copy_(layout_.copy == 0 ? nullptr : elements<T>(bindings.prepared).data()),
        gradients_(bindings.gradients.data()),
        output_(elements<T>(bindings.output)),
        forward_(site.cudnn, passes.forward, forward_operands(bindings)) {
    if (bindings.output_gradients.empty() || bindings.output_gradients[0].empty()) return;
    output_gradient_ = elements<T>(bindings.output_gradients[0]).data();
    open_gradient_ = output_gradient_;
    if (bindings.input_gradients.size() > 1 && !bindings.input_gradients[1].empty())
      opened_ = elements<T>(bindings.input_gradients[1]).data();
    else if (spec.relu)
      opened_ = elements<T>(bindings.scratch.subspan(layout_.input_gradient, layout_.open_gradient))
                    .data();
    if (opened_ != nullptr) open_gradient_ = opened_;
    if (layout_.bias_parts > 1)
      partial_bias_ =
          elements<float>(bindings.scratch.subspan(layout_.input_gradient + layout_.open_gradient,
                                                   layout_.partial_bias))
              .data();
    bind_backward(passes, site, bindings);
  }

  void parameters_changed() override {
    if constexpr (!std::is_same_v<T, float>)
      cast(parameters_, layout_.elements, copy_, device_.stream());
  }

  void forward() override {
    if (packed_input_ != nullptr)
      pack_pixels(input_, spec_.input, layout_.convolution.input.channels, packed_input_,
                  device_.stream());
    forward_.run();
  }

  void backward(GradientMode mode) override {
    const bool adds = mode == GradientMode::add;
    if (opened_ != nullptr && !spec_.relu)  // the addend's gradient is the output's
      device_.compute().copy(std::as_bytes(std::span(output_gradient_, output_.size())),
                             std::as_writable_bytes(std::span(opened_, output_.size())));
    if (spec_.bias) sum_bias(adds);
    compute_weights(adds);
    if (!data_) return;
    data_->run();
    if (packed_gradient_ != nullptr)
      unpack_pixels<T>(packed_gradient_, spec_.input, layout_.convolution.input.channels,
                       input_gradient_, device_.stream());
  }

 private:
  /// With a rectifier, writes the gradient in front of it in the same pass.
  void sum_bias(bool adds) {
    float* bias = gradients_ + layout_.bias;
    const Size parts = layout_.bias_parts;
    bias_gradient(BiasGradient<T>{.output_gradient = output_gradient_,
                                  .output = spec_.relu ? output_.data() : nullptr,
                                  .open_gradient = opened_,
                                  .bias = parts == 1 ? bias : partial_bias_,
                                  .rows = spec_.output().batch * spec_.output().pixels() / parts,
                                  .columns = parts * spec_.outputs,
                                  .adds = adds && parts == 1},
                  device_.stream());
    if (parts == 1) return;
    bias_gradient(BiasGradient<float>{.output_gradient = partial_bias_,
                                      .output = nullptr,
                                      .open_gradient = nullptr,
                                      .bias = bias,
                                      .rows = parts,
                                      .columns = spec_.outputs,
                                      .adds = adds},
                  device_.stream());
  }

  void compute_weights(bool adds) {
    ensure(!adds || addends_ != nullptr, "a convolution that adds has memory for it");
    (adds ? addend_ : weights_)->run();
    if (adds)
      add_terms(gradients_, layout_.weights, {.values = {addends_}, .count = 1}, device_.stream());
  }

  /// `y`: the output, or its gradient.
  [[nodiscard]] ConvolutionOperands operands(const Bindings& bindings, const T* y) const {
    const T* parameters = nullptr;
    if constexpr (std::is_same_v<T, float>)
      parameters = parameters_;
    else
      parameters = copy_;
    return {.x = packed_input_ == nullptr ? input_ : packed_input_,
            .weights = parameters,
            .y = y,
            .workspace = bindings.scratch.subspan(layout_.scratch())};
  }
  [[nodiscard]] ConvolutionOperands forward_operands(const Bindings& bindings) const {
    ConvolutionOperands forward = operands(bindings, output_.data());
    if (spec_.bias) forward.bias = static_cast<const T*>(forward.weights) + layout_.bias;
    if (spec_.add) forward.addend = bindings.inputs[1].data();
    return forward;
  }

  void bind_backward(const Passes& passes, const OperatorSite& site, const Bindings& bindings) {
    ConvolutionOperands backward = operands(bindings, open_gradient_);
    if (passes.data && !bindings.input_gradients[0].empty()) {
      input_gradient_ = elements<T>(bindings.input_gradients[0]).data();
      if (packed_input_ != nullptr) packed_gradient_ = elements<T>(bindings.scratch).data();
      ConvolutionOperands data = backward;
      data.x = packed_gradient_ == nullptr ? input_gradient_ : packed_gradient_;
      data_.emplace(site.cudnn, passes.data, data);
    }
    backward.weights = gradients_;
    weights_.emplace(site.cudnn, passes.weights, backward);
    if (bindings.addends.empty()) return;
    addends_ = elements<float>(bindings.addends).data();
    backward.weights = addends_;
    addend_.emplace(site.cudnn, passes.weights, backward);
  }

  Conv2dSpec spec_;
  Conv2dLayout layout_;
  CudaDevice& device_;
  const T* input_;
  T* packed_input_;  ///< null where the input is native
  const float* parameters_;
  T* copy_;  ///< of the weight; null in f32
  float* gradients_;
  std::span<T> output_;
  const T* output_gradient_ = nullptr;
  T* opened_ = nullptr;  ///< the gradient in front of rectifier and addition; null: the output's
  const T* open_gradient_ = nullptr;  ///< what the passes read
  float* partial_bias_ = nullptr;     ///< parts × outputs
  T* input_gradient_ = nullptr;
  T* packed_gradient_ = nullptr;
  float* addends_ = nullptr;
  Convolution forward_;
  std::optional<Convolution> weights_;
  std::optional<Convolution> addend_;  ///< the weight's gradient beside that which is there
  std::optional<Convolution> data_;
};

/// Calls use(row-major index, index in the arena) for each element of the weight.
template <class Use>
void for_each_weight(const Conv2dSpec& spec, const Use& use) {
  const Size taps = spec.window.kernel_height * spec.window.kernel_width;
  const Size padded = packed(spec).input.channels;
  for (Size out = 0; out < spec.outputs; ++out)
    for (Size channel = 0; channel < spec.input.channels; ++channel)
      for (Size tap = 0; tap < taps; ++tap)
        use(static_cast<std::size_t>((out * spec.input.channels + channel) * taps + tap),
            static_cast<std::size_t>((out * taps + tap) * padded + channel));
}

class Conv2dPlan final : public OperatorPlan {
 public:
  Conv2dPlan(const Conv2dSpec& spec, Passes passes, const OperatorSite& site)
      : spec_(spec), passes_(std::move(passes)), site_(site), layout_(spec) {}

  [[nodiscard]] ParameterLayout layout() const override {
    const Size all = layout_.elements;
    return {.elements = all, .owned = {{.range = {0, all}, .member = 0}}};
  }
  [[nodiscard]] Bytes prepared_bytes() const override { return layout_.copy; }
  [[nodiscard]] Bytes saved_bytes() const override { return layout_.input; }
  [[nodiscard]] Bytes scratch_bytes() const override {
    return layout_.scratch() + passes_.workspace();
  }
  [[nodiscard]] Bytes addend_bytes() const override { return float_bytes(layout_.weights); }
  [[nodiscard]] std::string description() const override {
    std::string text = fmt::format("cuDNN forward: {}; weights: {}", passes_.forward->name(),
                                   passes_.weights->name());
    if (passes_.data) text += "; data: " + passes_.data->name();
    return text;
  }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const override {
    require_tensors(tensors.size());
    std::ranges::fill(arena, 0.0F);
    for_each_weight(spec_, [&](std::size_t from, std::size_t to) { arena[to] = tensors[0][from]; });
    if (spec_.bias) std::ranges::copy(tensors[1], arena.begin() + layout_.bias);
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const override {
    require_tensors(tensors.size());
    for_each_weight(spec_, [&](std::size_t to, std::size_t from) { tensors[0][to] = arena[from]; });
    if (spec_.bias)
      std::ranges::copy(arena.subspan(static_cast<std::size_t>(layout_.bias), tensors[1].size()),
                        tensors[1].begin());
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<Conv2d>(spec_.type, spec_, passes_, site_, bindings);
  }

 private:
  void require_tensors(std::size_t count) const {
    ensure(count == (spec_.bias ? 2 : 1), "a convolution has a weight, and maybe a bias");
  }

  Conv2dSpec spec_;
  Passes passes_;
  OperatorSite site_;
  Conv2dLayout layout_;
};

/// Weight gradients of narrow types are computed by engines that cuDNN compiles when it plans them.
Error no_plan_error(const Conv2dSpec& spec) {
  const std::string what =
      fmt::format("cuDNN has no deterministic algorithm for '{}'", key_of(spec));
  const RuntimeCompiler compiler = open_runtime_compiler();
  if (kept_type(spec.type) == ElementType::f32 || compiler.reason.empty())
    return capability_error(what, "use --device cpu");
  return capability_error(
      fmt::format("{}: it compiles these at run time with {}, which cannot be used ({})", what,
                  compiler.library, compiler.reason),
      compiler.remedy + "; --precision fp32 does without");
}

/// Of a pass that is needed: the first ones, up to `most`.
std::vector<PassPlan> first_plans(const Conv2dSpec& spec, ConvolutionPass pass,
                                  const OperatorSite& site, std::size_t most) {
  std::vector<PassPlan> plans = site.convolutions.of(spec, pass).first(most);
  if (plans.empty()) throw no_plan_error(spec);
  return plans;
}

/// Each plan of a pass with each of the others.
std::vector<Passes> first_passes(const Conv2dSpec& spec, const OperatorSite& site,
                                 std::size_t most) {
  site.device.make_current();
  const auto forward = first_plans(spec, ConvolutionPass::forward, site, most);
  const auto weights = first_plans(spec, ConvolutionPass::weights, site, most);
  const auto data = spec.input_gradient ? first_plans(spec, ConvolutionPass::data, site, most)
                                        : std::vector<PassPlan>{nullptr};
  std::vector<Passes> all;
  for (const PassPlan& of_forward : forward)
    for (const PassPlan& of_weights : weights)
      for (const PassPlan& of_data : data)
        all.push_back({.forward = of_forward, .weights = of_weights, .data = of_data});
  return all;
}

/// "forward=" before the name of a plan.
std::string word_of(ConvolutionPass pass) { return fmt::format("{}=", name_of(pass)); }

std::string candidate_of(const Passes& passes) {
  std::string name = word_of(ConvolutionPass::forward) + passes.forward->name() + ' ' +
                     word_of(ConvolutionPass::weights) + passes.weights->name();
  if (passes.data) name += ' ' + word_of(ConvolutionPass::data) + passes.data->name();
  return name;
}

/// The passes that a candidate's name stands for; empty where cuDNN does not have them.
std::optional<Passes> passes_of(const Conv2dSpec& spec, std::string_view candidate,
                                const OperatorSite& site) {
  site.device.make_current();
  std::string_view rest = candidate;
  const auto take = [&](ConvolutionPass pass) -> PassPlan {
    const std::string word = word_of(pass);
    const std::string_view next = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), next.size() + 1));
    if (!next.starts_with(word)) return nullptr;
    return site.convolutions.of(spec, pass).named(next.substr(word.size()));
  };
  Passes passes;
  passes.forward = take(ConvolutionPass::forward);
  if (!passes.forward) return std::nullopt;
  passes.weights = take(ConvolutionPass::weights);
  if (!passes.weights) return std::nullopt;
  if (spec.input_gradient) passes.data = take(ConvolutionPass::data);
  if (spec.input_gradient && !passes.data) return std::nullopt;
  return candidate_of(passes) == candidate ? std::optional(passes) : std::nullopt;
}

}  // namespace

std::vector<std::string> candidates_of(const Conv2dSpec& spec, const OperatorSite& site) {
  std::vector<std::string> names;
  for (const Passes& passes : first_passes(spec, site, kConvolutionAlgorithms))
    names.push_back(candidate_of(passes));
  return names;
}

std::string safest_candidate_of(const Conv2dSpec& spec, const OperatorSite& site) {
  return candidate_of(first_passes(spec, site, 1).front());
}

bool is_candidate_of(const Conv2dSpec& spec, std::string_view candidate, const OperatorSite& site) {
  return passes_of(spec, candidate, site).has_value();
}

std::unique_ptr<OperatorPlan> plan_operator(const Conv2dSpec& spec, std::string_view candidate,
                                            const OperatorSite& site) {
  std::optional<Passes> passes = passes_of(spec, candidate, site);
  if (!passes) return nullptr;
  return std::make_unique<Conv2dPlan>(spec, *std::move(passes), site);
}

}  // namespace ptbench::cuda
