#include "workloads/layers.h"

#include <nlohmann/json.hpp>

namespace ptbench {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kExtent = "number or [height, width]";

Extent kernel_of(const Window& w) { return {w.kernel_height, w.kernel_width}; }
Extent stride_of(const Window& w) { return {w.stride_height, w.stride_width}; }
Extent padding_of(const Window& w) { return {w.padding_height, w.padding_width}; }

/// Without a default stride, it is the kernel, as pools have it.
Window read_window(const JsonFields& fields, std::optional<Extent> default_stride) {
  const Extent kernel = fields.extent("kernel", 1, kMostElements);
  const Extent stride = fields.extent("stride", 1, kMostElements, default_stride.value_or(kernel));
  const Extent padding = fields.extent("padding", 0, kMostElements, Extent{0, 0});
  return {.kernel_height = kernel.height,
          .kernel_width = kernel.width,
          .stride_height = stride.height,
          .stride_width = stride.width,
          .padding_height = padding.height,
          .padding_width = padding.width};
}

void write_extent(ordered_json& fields, const char* key, Extent extent) {
  if (extent.height == extent.width)
    fields[key] = extent.height;
  else
    fields[key] = {extent.height, extent.width};
}

void write_window(ordered_json& fields, const Window& window,
                  std::optional<Extent> default_stride) {
  const Extent kernel = kernel_of(window);
  write_extent(fields, "kernel", kernel);
  if (stride_of(window) != default_stride.value_or(kernel))
    write_extent(fields, "stride", stride_of(window));
  if (padding_of(window) != Extent{0, 0}) write_extent(fields, "padding", padding_of(window));
}

Layer read_linear(const JsonFields& fields) {
  return LinearLayer{fields.whole("outputs", 1, kMostElements)};
}

bool write_linear(const Layer& layer, ordered_json& fields) {
  const auto* linear = std::get_if<LinearLayer>(&layer);
  if (linear != nullptr) fields["outputs"] = linear->outputs;
  return linear != nullptr;
}

Layer read_conv2d(const JsonFields& fields) {
  Conv2dLayer conv;
  conv.outputs = fields.whole("outputs", 1, kMostElements);
  conv.window = read_window(fields, Extent{1, 1});
  conv.bias = fields.flag("bias", conv.bias);
  if (fields.choice("init", {"uniform", "kaiming_normal"}, "uniform") == "kaiming_normal")
    conv.init = ConvInit::kaiming_normal;
  return conv;
}

bool write_conv2d(const Layer& layer, ordered_json& fields) {
  const auto* conv = std::get_if<Conv2dLayer>(&layer);
  if (conv == nullptr) return false;
  fields["outputs"] = conv->outputs;
  write_window(fields, conv->window, Extent{1, 1});
  if (!conv->bias) fields["bias"] = false;
  if (conv->init == ConvInit::kaiming_normal) fields["init"] = "kaiming_normal";
  return true;
}

template <PoolKind Kind>
Layer read_pool(const JsonFields& fields) {
  return PoolLayer{.kind = Kind, .window = read_window(fields, std::nullopt)};
}

template <PoolKind Kind>
bool write_pool(const Layer& layer, ordered_json& fields) {
  const auto* pool = std::get_if<PoolLayer>(&layer);
  if (pool == nullptr || pool->kind != Kind) return false;
  write_window(fields, pool->window, std::nullopt);
  return true;
}

template <PoolKind Kind>
Layer read_global_pool(const JsonFields& /*fields*/) {
  return GlobalPoolLayer{Kind};
}

template <PoolKind Kind>
bool write_global_pool(const Layer& layer, ordered_json& /*fields*/) {
  const auto* pool = std::get_if<GlobalPoolLayer>(&layer);
  return pool != nullptr && pool->kind == Kind;
}

/// Layers without keys.
template <class Kind>
Layer read_plain(const JsonFields& /*fields*/) {
  return Kind{};
}

template <class Kind>
bool write_plain(const Layer& layer, ordered_json& /*fields*/) {
  return std::holds_alternative<Kind>(layer);
}

LayerType plain_type(std::string_view name, std::string_view summary, std::size_t inputs,
                     decltype(LayerType::read) read, decltype(LayerType::write) write) {
  return {
      .name = name, .summary = summary, .inputs = inputs, .keys = {}, .read = read, .write = write};
}

std::vector<LayerType> make_layer_types() {
  const LayerKey outputs{"outputs", "number", ""};
  const LayerKey kernel{"kernel", kExtent, ""};
  const LayerKey padding{"padding", kExtent, "0"};
  const std::vector<LayerKey> pool_keys{kernel, {"stride", kExtent, "the kernel"}, padding};
  return {
      {.name = "linear",
       .summary = "nn.Linear: x·Wᵀ + b of a row",
       .keys = {outputs},
       .read = read_linear,
       .write = write_linear},
      {.name = "conv2d",
       .summary = "nn.Conv2d of an image",
       .keys = {outputs,
                kernel,
                {"stride", kExtent, "1"},
                padding,
                {"bias", "true or false", "true"},
                {"init", "uniform or kaiming_normal", "uniform"}},
       .read = read_conv2d,
       .write = write_conv2d},
      plain_type("batch_norm", "nn.BatchNorm2d of an image, nn.BatchNorm1d of a row", 1,
                 read_plain<BatchNormLayer>, write_plain<BatchNormLayer>),
      plain_type("relu", "nn.ReLU: max(0, x)", 1, read_plain<ReluLayer>, write_plain<ReluLayer>),
      plain_type("gelu", "nn.GELU: x·Φ(x), exact", 1, read_plain<GeluLayer>,
                 write_plain<GeluLayer>),
      {.name = "max_pool",
       .summary = "nn.MaxPool2d of an image",
       .keys = pool_keys,
       .read = read_pool<PoolKind::max>,
       .write = write_pool<PoolKind::max>},
      {.name = "average_pool",
       .summary = "nn.AvgPool2d of an image; padding counts as zeros",
       .keys = pool_keys,
       .read = read_pool<PoolKind::average>,
       .write = write_pool<PoolKind::average>},
      plain_type("global_average_pool", "nn.AdaptiveAvgPool2d(1) of an image", 1,
                 read_global_pool<PoolKind::average>, write_global_pool<PoolKind::average>),
      plain_type("global_max_pool", "nn.AdaptiveMaxPool2d(1) of an image", 1,
                 read_global_pool<PoolKind::max>, write_global_pool<PoolKind::max>),
      plain_type("flatten", "nn.Flatten: an image as a row", 1, read_plain<FlattenLayer>,
                 write_plain<FlattenLayer>),
      plain_type("add", "the sum of two tensors of one shape", 2, read_plain<AddLayer>,
                 write_plain<AddLayer>),
  };
}

}  // namespace

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> types = make_layer_types();
  return types;
}

}  // namespace ptbench
