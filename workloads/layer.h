#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/spec.h"
#include "src/base/error.h"
#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

// Layers as people name them; shapes of one sample are derived, so batch size is not part of a
// graph. Images are channels × height × width, everything else is a row of values.

[[nodiscard]] inline bool is_row(const Shape& sample) { return sample.rank() == 1; }
[[nodiscard]] inline bool is_image(const Shape& sample) { return sample.rank() == 3; }

/// nn.Linear; an image that enters it is an error (flatten it first).
struct LinearLayer {
  Size outputs = 0;
};

/// How convolution weights are drawn: as nn.Conv2d does, or as torchvision's ResNets do
/// (He et al. 2015: normal with variance 2 / (outputs · kernel)).
enum class ConvInit : std::uint8_t { uniform, kaiming_normal };

struct Conv2dLayer {
  Size outputs = 0;
  Window window;
  bool bias = true;
  ConvInit init = ConvInit::uniform;
};

/// Of an image per channel, of a row per value.
struct BatchNormLayer {};
struct ReluLayer {};
struct GeluLayer {};

struct PoolLayer {
  PoolKind kind = PoolKind::max;
  Window window;
};

/// Each channel's maximum or average over the whole image; gives channels × 1 × 1.
struct GlobalPoolLayer {
  PoolKind kind = PoolKind::average;
};

/// An image as a row, in row-major order.
struct FlattenLayer {};
/// The sum of two tensors of the same shape.
struct AddLayer {};

using Layer = std::variant<LinearLayer, Conv2dLayer, BatchNormLayer, ReluLayer, GeluLayer,
                           PoolLayer, GlobalPoolLayer, FlattenLayer, AddLayer>;

/// Sizes above this are refused: no tensor and no model has more elements. What
/// remains can be multiplied by an element's bytes or by a large batch without overflow.
constexpr Size kMostElements = Size{1} << 40U;

/// A layer's place in a graph, as its shape rule sees it.
class LayerSite {
 public:
  /// `inputs`: shapes of one sample of what enters it.
  LayerSite(std::string name, std::vector<Shape> inputs)
      : name_(std::move(name)), inputs_(std::move(inputs)) {}

  [[nodiscard]] const Shape& input(std::size_t index = 0) const { return inputs_.at(index); }
  /// A usage error that names the layer.
  [[nodiscard]] Error misfit(const std::string& what, std::string remedy) const;
  /// Throws it where the input is a row.
  void require_image() const;

 private:
  std::string name_;
  std::vector<Shape> inputs_;
};

/// "a row of 10", "an image of 3x32x32".
[[nodiscard]] std::string described(const Shape& shape);

/// What enters a layer, as the operator that computes it sees it.
struct LayerInput {
  TensorSpec tensor;     ///< batch first; where there are two inputs, both are alike
  bool gradient = true;  ///< whether anybody needs its gradient
};

/// How the operator of a layer wants its input, whose type is that of the model's activations: as
/// it comes, as rows of values, as images that the backend keeps in its own way.
enum class LayerForm : std::uint8_t { any, rows, native };

/// What a graph asks of one kind of layer: `kInputs`, its inputs; `bends(layer)`, whether it has a
/// corner or a bend; `shape(layer, site)`, the shape of one sample of its output, which throws
/// where it does not fit; `spec(layer, input)`, the operator that computes it; `kForm`, how that
/// wants its input, unless lower.cpp lowers the layer itself; `draw(layer, tensor)`, which changes
/// how the operator's parameters are drawn; `kName` and `kSummary` in model files, unless
/// layers.cpp has keys of it. A layer that leaves one out does not compile; what it shares with
/// others, it takes from a base.
template <class L>
struct LayerTraits;

struct OneInput {
  static constexpr std::size_t kInputs = 1;
};
struct SameShape {
  static Shape shape(const auto& /*layer*/, const LayerSite& site) { return site.input(); }
};
struct Smooth {
  static bool bends(const auto& /*layer*/) { return false; }
};
struct Bent {
  static bool bends(const auto& /*layer*/) { return true; }
};
struct DrawnAsUsual {
  static void draw(const auto& /*layer*/, ParameterSpec& /*tensor*/) {}
};

template <>
struct LayerTraits<LinearLayer> : OneInput, Smooth, DrawnAsUsual {
  static Shape shape(const LinearLayer& layer, const LayerSite& site);
  static LinearSpec spec(const LinearLayer& layer, const LayerInput& input) {
    return {.batch = input.tensor.shape[0],
            .inputs = input.tensor.shape[1],
            .outputs = layer.outputs,
            .input_gradient = input.gradient,
            .type = input.tensor.type};
  }
};

template <>
struct LayerTraits<Conv2dLayer> : OneInput, Smooth {
  static Shape shape(const Conv2dLayer& layer, const LayerSite& site);
  static Conv2dSpec spec(const Conv2dLayer& layer, const LayerInput& input) {
    return {.input = image_of(input.tensor),
            .outputs = layer.outputs,
            .window = layer.window,
            .bias = layer.bias,
            .plain_input = input.tensor.format == TensorFormat::plain,
            .input_gradient = input.gradient,
            .type = input.tensor.type};
  }
  static void draw(const Conv2dLayer& layer, ParameterSpec& tensor);
};

template <>
struct LayerTraits<BatchNormLayer> : OneInput, Smooth, SameShape, DrawnAsUsual {
  static constexpr std::string_view kName = "batch_norm";
  static constexpr std::string_view kSummary =
      "nn.BatchNorm2d of an image, nn.BatchNorm1d of a row";
  static BatchNormSpec spec(const BatchNormLayer& /*layer*/, const LayerInput& input) {
    return {.input = image_of(input.tensor),
            .input_gradient = input.gradient,
            .type = input.tensor.type};
  }
};

template <>
struct LayerTraits<ReluLayer> : OneInput, Bent, SameShape, DrawnAsUsual {
  static constexpr std::string_view kName = "relu";
  static constexpr std::string_view kSummary = "nn.ReLU: max(0, x)";
  static constexpr LayerForm kForm = LayerForm::any;
  static ReluSpec spec(const ReluLayer& /*layer*/, const LayerInput& input) {
    return {.tensor = input.tensor, .input_gradient = input.gradient};
  }
};

template <>
struct LayerTraits<GeluLayer> : OneInput, Bent, SameShape, DrawnAsUsual {
  static constexpr std::string_view kName = "gelu";
  static constexpr std::string_view kSummary = "nn.GELU: x·Φ(x), exact";
  static constexpr LayerForm kForm = LayerForm::any;
  static GeluSpec spec(const GeluLayer& /*layer*/, const LayerInput& input) {
    return {.tensor = input.tensor, .input_gradient = input.gradient};
  }
};

template <>
struct LayerTraits<PoolLayer> : OneInput, DrawnAsUsual {
  static constexpr LayerForm kForm = LayerForm::native;
  static bool bends(const PoolLayer& layer) { return layer.kind == PoolKind::max; }
  static Shape shape(const PoolLayer& layer, const LayerSite& site);
  static PoolSpec spec(const PoolLayer& layer, const LayerInput& input) {
    return {.kind = layer.kind,
            .input = image_of(input.tensor),
            .window = layer.window,
            .input_gradient = input.gradient,
            .type = input.tensor.type};
  }
};

template <>
struct LayerTraits<GlobalPoolLayer> : OneInput, DrawnAsUsual {
  static constexpr LayerForm kForm = LayerForm::native;
  static bool bends(const GlobalPoolLayer& layer) { return layer.kind == PoolKind::max; }
  static Shape shape(const GlobalPoolLayer& layer, const LayerSite& site);
  static PoolSpec spec(const GlobalPoolLayer& layer, const LayerInput& input) {
    const ImageShape image = image_of(input.tensor);
    return {.kind = layer.kind,
            .input = image,
            .window = {.kernel_height = image.height,
                       .kernel_width = image.width,
                       .stride_height = image.height,
                       .stride_width = image.width},
            .input_gradient = input.gradient,
            .type = input.tensor.type};
  }
};

template <>
struct LayerTraits<FlattenLayer> : OneInput, Smooth, DrawnAsUsual {
  static constexpr std::string_view kName = "flatten";
  static constexpr std::string_view kSummary = "nn.Flatten: an image as a row";
  static Shape shape(const FlattenLayer& layer, const LayerSite& site);
  static ReorderSpec spec(const FlattenLayer& /*layer*/, const LayerInput& input) {
    const Shape& shape = input.tensor.shape;
    return {.from = input.tensor,
            .to = {.shape = {shape[0], shape.elements() / shape[0]}, .type = input.tensor.type},
            .input_gradient = input.gradient};
  }
};

template <>
struct LayerTraits<AddLayer> : Smooth, DrawnAsUsual {
  static constexpr std::string_view kName = "add";
  static constexpr std::string_view kSummary = "the sum of two tensors of one shape";
  static constexpr std::size_t kInputs = 2;
  static Shape shape(const AddLayer& layer, const LayerSite& site);
  static AddSpec spec(const AddLayer& /*layer*/, const LayerInput& input) {
    return {.tensor = input.tensor};
  }
};

/// The operator that computes `layer`.
[[nodiscard]] inline OperatorSpec operator_of(const Layer& layer, const LayerInput& input) {
  return std::visit(
      [&]<class L>(const L& concrete) -> OperatorSpec {
        return LayerTraits<L>::spec(concrete, input);
      },
      layer);
}

}  // namespace ptbench
