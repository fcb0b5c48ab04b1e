#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/cuda/bias_gradient.h"
#include "kernels/cuda/casts.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/typed.h"
#include "kernels/cuda/workspace.h"
#include "src/base/error.h"

namespace ptbench::cuda {
namespace {

constexpr int kLinearAlgorithms = 3;  // of a product that are offered

/// The three products of a linear layer. Row-major matrices of the layer are their transposes to
/// cuBLASLt: x is inputs × batch here, y outputs × batch, W inputs × outputs.
struct Products {
  explicit Products(const LinearSpec& spec)
      : forward{.a = {spec.inputs, spec.outputs},
                .b = {spec.inputs, spec.batch},
                .d = {spec.outputs, spec.batch},
                .transpose_a = true,
                .epilogue = spec.relu ? Epilogue::bias_relu : Epilogue::bias,
                .factors = spec.type,
                .result = spec.type},
        weights{.a = {spec.inputs, spec.batch},
                .b = {spec.outputs, spec.batch},
                .d = {spec.inputs, spec.outputs},
                .transpose_b = true,
                .factors = spec.type},
        data{.a = {spec.inputs, spec.outputs},
             .b = {spec.outputs, spec.batch},
             .d = {spec.inputs, spec.batch},
             .factors = spec.type,
             .result = spec.type} {}

  ProductSpec forward;  ///< y = W·x + b, rectified
  ProductSpec weights;  ///< dW = x·dyᵀ, in f32
  ProductSpec data;     ///< dx = Wᵀ·dy
};

/// Which algorithms compute a layer.
struct Algorithms {
  ProductAlgorithm forward;
  ProductAlgorithm weights;
  std::optional<ProductAlgorithm> data;  ///< where the input's gradient is wanted

  [[nodiscard]] Bytes workspace() const {
    return std::max({forward.workspace, weights.workspace, data ? data->workspace : 0});
  }
};

/// Where the parts of a layer lie in its slice of an arena.
struct LinearLayout {
  explicit LinearLayout(const LinearSpec& spec)
      : bias(round_up(spec.inputs * spec.outputs, kArenaUnit)),
        elements(bias + round_up(spec.outputs, kArenaUnit)) {}
  Size bias;  ///< where it begins; the weight begins at 0
  Size elements;
};

/// In the scratch memory the rectifier's open gradient lies in front, then the library's workspace.
Bytes open_gradient_bytes(const LinearSpec& spec) {
  if (!spec.relu) return 0;
  return round_up(static_cast<Bytes>(spec.batch * spec.outputs) * bytes_of(spec.type),
                  kWorkspaceAlignment);
}

/// In the prepared memory, what the arena holds, rounded to the type that is multiplied: made when
/// the parameters change, since every pass reads it several times.
Bytes rounded_bytes(const LinearSpec& spec) {
  if (kept_type(spec.type) == ElementType::f32) return 0;
  return static_cast<Bytes>(LinearLayout(spec).elements) * bytes_of(spec.type);
}

/// T: the type of activations, and of weight and bias as products take them.
template <class T>
class Linear final : public Operator {
 public:
  Linear(const LinearSpec& spec, Algorithms algorithms, const OperatorSite& site,
         const Bindings& bindings)
      : spec_(spec),
        algorithms_(std::move(algorithms)),
        device_(site.device),
        input_(elements<T>(bindings.inputs[0]).data()),
        output_(elements<T>(bindings.output).data()),
        output_gradient_(bindings.output_gradients.empty()
                             ? nullptr
                             : elements<T>(bindings.output_gradients[0]).data()),
        input_gradient_(bindings.input_gradients.empty()
                            ? nullptr
                            : elements<T>(bindings.input_gradients[0]).data()),
        arena_(bindings.parameters),
        rounded_(bindings.prepared),
        weight_(multiplied(bindings)),
        weight_gradient_(bindings.gradients.data()),
        bias_gradient_(bindings.gradients.data() + LinearLayout(spec).bias),
        open_gradient_(spec.relu ? elements<T>(bindings.scratch).data() : nullptr),
        workspace_(bindings.scratch.subspan(open_gradient_bytes(spec))),
        forward_(site.library, Products(spec).forward, weight_ + LinearLayout(spec).bias),
        weights_(site.library, Products(spec).weights),
        data_(site.library, Products(spec).data) {}

  void parameters_changed() override {
    if constexpr (!std::is_same_v<T, float>)
      cast(arena_.data(), std::ssize(arena_), elements<T>(rounded_).data(), device_.stream());
  }

  void forward() override {
    forward_.run({.a = weight_, .b = input_, .d = output_, .workspace = workspace_},
                 algorithms_.forward, device_.stream());
  }

  void backward(GradientMode mode) override {
    const bool adds = mode == GradientMode::add;
    const T* gradient = spec_.relu ? open_gradient_ : output_gradient_;
    bias_gradient(BiasGradient<T>{.output_gradient = output_gradient_,
                                  .output = spec_.relu ? output_ : nullptr,
                                  .open_gradient = open_gradient_,
                                  .bias = bias_gradient_,
                                  .rows = spec_.batch,
                                  .columns = spec_.outputs,
                                  .adds = adds},
                  device_.stream());
    weights_.run(
        {.a = input_, .b = gradient, .d = weight_gradient_, .adds = adds, .workspace = workspace_},
        algorithms_.weights, device_.stream());
    if (input_gradient_ == nullptr || !algorithms_.data) return;
    data_.run({.a = weight_, .b = gradient, .d = input_gradient_, .workspace = workspace_},
              *algorithms_.data, device_.stream());
  }

 private:
  /// The parameters as products take them: the arena itself, or its rounded copy.
  static const T* multiplied(const Bindings& bindings) {
    if constexpr (std::is_same_v<T, float>)
      return bindings.parameters.data();
    else
      return elements<T>(bindings.prepared).data();
  }

  LinearSpec spec_;
  Algorithms algorithms_;
  const CudaDevice& device_;
  const T* input_;            ///< batch × inputs
  T* output_;                 ///< batch × outputs
  const T* output_gradient_;  ///< batch × outputs
  T* input_gradient_;         ///< batch × inputs; null where nobody needs it
  std::span<const float> arena_;
  std::span<std::byte> rounded_;  ///< the arena's copy in the type of activations; empty in f32
  const T* weight_;               ///< outputs × inputs; the bias behind it
  float* weight_gradient_;
  float* bias_gradient_;
  T* open_gradient_;  ///< batch × outputs, of a rectified layer
  std::span<std::byte> workspace_;
  Product forward_;
  Product weights_;
  Product data_;
};

/// What all plans of a layer share: how it lies in an arena.
class LinearArena : public OperatorPlan {
 public:
  explicit LinearArena(const LinearSpec& spec) : spec_(spec) {}

  [[nodiscard]] ParameterLayout layout() const final {
    const Size all = LinearLayout(spec_).elements;
    return {.elements = all, .owned = {{.range = {0, all}, .member = 0}}};
  }
  void import_parameters(std::span<const std::span<const float>> tensors,
                         std::span<float> arena) const final {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    std::ranges::copy(tensors[0], arena.begin());
    std::ranges::copy(tensors[1], arena.begin() + LinearLayout(spec_).bias);
  }
  void export_parameters(std::span<const float> arena,
                         std::span<const std::span<float>> tensors) const final {
    ensure(tensors.size() == 2, "a linear layer has a weight and a bias");
    std::ranges::copy(arena.first(tensors[0].size()), tensors[0].begin());
    const auto bias = static_cast<std::size_t>(LinearLayout(spec_).bias);
    std::ranges::copy(arena.subspan(bias, tensors[1].size()), tensors[1].begin());
  }

 protected:
  [[nodiscard]] const LinearSpec& spec() const { return spec_; }

 private:
  LinearSpec spec_;
};

class LinearPlan final : public LinearArena {
 public:
  LinearPlan(const LinearSpec& spec, Algorithms algorithms, const OperatorSite& site)
      : LinearArena(spec), algorithms_(std::move(algorithms)), site_(site) {}

  [[nodiscard]] Bytes prepared_bytes() const override { return rounded_bytes(spec()); }
  [[nodiscard]] Bytes scratch_bytes() const override {
    return open_gradient_bytes(spec()) + algorithms_.workspace();
  }
  [[nodiscard]] std::string description() const override {
    std::string text =
        fmt::format("cuBLASLt forward: {}; weights: {}", algorithms_.forward.description,
                    algorithms_.weights.description);
    if (algorithms_.data) text += "; data: " + algorithms_.data->description;
    return text;
  }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<Linear>(spec().type, spec(), algorithms_, site_, bindings);
  }

 private:
  Algorithms algorithms_;
  OperatorSite site_;
};

template <class T>
class DirectLinear final : public Operator {
 public:
  DirectLinear(const LinearSpec& spec, const OperatorSite& site, const Bindings& bindings)
      : work_(site.small_work),
        layer_{.input = elements<T>(bindings.inputs[0]).data(),
               .weight = bindings.parameters.data(),
               .bias = bindings.parameters.data() + LinearLayout(spec).bias,
               .output = elements<T>(bindings.output).data(),
               .batch = spec.batch,
               .inputs = spec.inputs,
               .outputs = spec.outputs,
               .relu = spec.relu},
        gradients_{.output_gradient = bindings.output_gradients.empty()
                                          ? nullptr
                                          : elements<T>(bindings.output_gradients[0]).data(),
                   .weight = bindings.gradients.data(),
                   .bias = bindings.gradients.data() + LinearLayout(spec).bias,
                   .input = bindings.input_gradients.empty()
                                ? nullptr
                                : elements<T>(bindings.input_gradients[0]).data()} {}

  void forward() override { work_.add(LinearForward<T>{layer_}); }
  void backward(GradientMode mode) override {
    gradients_.adds = mode == GradientMode::add;
    work_.add(LinearBackward<T>{layer_, gradients_});
  }

 private:
  SmallWork& work_;
  SmallLinear<T> layer_;
  SmallLinearGradients<T> gradients_;
};

class DirectLinearPlan final : public LinearArena {
 public:
  DirectLinearPlan(const LinearSpec& spec, const OperatorSite& site)
      : LinearArena(spec), site_(site) {}

  [[nodiscard]] std::string description() const override { return "a launch a pass"; }
  [[nodiscard]] std::unique_ptr<Operator> bind(const Bindings& bindings) const override {
    return make_typed<DirectLinear>(spec().type, spec(), site_, bindings);
  }

 private:
  OperatorSite site_;
};

constexpr std::string_view kDirect = "direct";

/// Whether the products are nothing beside the launches that they save.
bool is_small(const LinearSpec& spec) {
  constexpr Size kWeights = 256;
  constexpr Size kBatch = 256;
  return spec.inputs * spec.outputs <= kWeights && spec.batch <= kBatch;
}

/// A candidate's name and what it stands for.
struct Candidate {
  std::string name;
  Algorithms algorithms;
};

std::vector<Candidate> all_candidates(const LinearSpec& spec, const OperatorSite& site) {
  site.device.make_current();
  const auto algorithms = [&](const ProductSpec& product) {
    return Product(site.library, product).algorithms(kLinearAlgorithms);
  };
  const Products products(spec);
  const auto forward = algorithms(products.forward);
  const auto weights = algorithms(products.weights);
  const auto data =
      spec.input_gradient ? algorithms(products.data) : std::vector<ProductAlgorithm>();
  std::vector<Candidate> all;
  for (std::size_t f = 0; f < forward.size(); ++f)
    for (std::size_t w = 0; w < weights.size(); ++w) {
      const std::string name = fmt::format("forward={} weights={}", f, w);
      if (data.empty())
        all.push_back({name, {.forward = forward[f], .weights = weights[w], .data = {}}});
      for (std::size_t d = 0; d < data.size(); ++d)
        all.push_back({fmt::format("{} data={}", name, d),
                       {.forward = forward[f], .weights = weights[w], .data = data[d]}});
    }
  return all;
}

}  // namespace

std::vector<std::string> candidates_of(const LinearSpec& spec, const OperatorSite& site) {
  std::vector<std::string> names;
  if (is_small(spec)) names.emplace_back(kDirect);
  for (Candidate& candidate : all_candidates(spec, site))
    names.push_back(std::move(candidate.name));
  return names;
}

std::unique_ptr<OperatorPlan> plan_operator(const LinearSpec& spec, std::string_view candidate,
                                            const OperatorSite& site) {
  if (candidate == kDirect)
    return is_small(spec) ? std::make_unique<DirectLinearPlan>(spec, site) : nullptr;
  for (Candidate& known : all_candidates(spec, site))
    if (known.name == candidate)
      return std::make_unique<LinearPlan>(spec, std::move(known.algorithms), site);
  return nullptr;
}

}  // namespace ptbench::cuda
