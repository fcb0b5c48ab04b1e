#include "workloads/layers.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

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

/// The rows of a kind of layer in the table, and what its keys are in a file: of layers whose name
/// and fields depend on their values.
template <class L>
struct Keys;

template <>
struct Keys<LinearLayer> {
  static std::vector<LayerType> types() {
    return {{.name = "linear",
             .summary = "nn.Linear: x·Wᵀ + b of a row",
             .keys = {{"outputs", "number", ""}},
             .read = read}};
  }
  static Layer read(const JsonFields& fields) {
    return LinearLayer{fields.whole("outputs", 1, kMostElements)};
  }
  static std::string_view write(const LinearLayer& layer, ordered_json& fields) {
    fields["outputs"] = layer.outputs;
    return "linear";
  }
};

template <>
struct Keys<Conv2dLayer> {
  static std::vector<LayerType> types() {
    return {{.name = "conv2d",
             .summary = "nn.Conv2d of an image",
             .keys = {{"outputs", "number", ""},
                      {"kernel", kExtent, ""},
                      {"stride", kExtent, "1"},
                      {"padding", kExtent, "0"},
                      {"bias", "true or false", "true"},
                      {"init", "uniform or kaiming_normal", "uniform"}},
             .read = read}};
  }
  static Layer read(const JsonFields& fields) {
    Conv2dLayer conv;
    conv.outputs = fields.whole("outputs", 1, kMostElements);
    conv.window = read_window(fields, Extent{1, 1});
    conv.bias = fields.flag("bias", conv.bias);
    if (fields.choice("init", {"uniform", "kaiming_normal"}, "uniform") == "kaiming_normal")
      conv.init = ConvInit::kaiming_normal;
    return conv;
  }
  static std::string_view write(const Conv2dLayer& conv, ordered_json& fields) {
    fields["outputs"] = conv.outputs;
    write_window(fields, conv.window, Extent{1, 1});
    if (!conv.bias) fields["bias"] = false;
    if (conv.init == ConvInit::kaiming_normal) fields["init"] = "kaiming_normal";
    return "conv2d";
  }
};

template <>
struct Keys<PoolLayer> {
  static std::vector<LayerType> types() {
    const std::vector<LayerKey> keys{
        {"kernel", kExtent, ""}, {"stride", kExtent, "the kernel"}, {"padding", kExtent, "0"}};
    return {{.name = "max_pool",
             .summary = "nn.MaxPool2d of an image",
             .keys = keys,
             .read = read<PoolKind::max>},
            {.name = "average_pool",
             .summary = "nn.AvgPool2d of an image; padding counts as zeros",
             .keys = keys,
             .read = read<PoolKind::average>}};
  }
  template <PoolKind Kind>
  static Layer read(const JsonFields& fields) {
    return PoolLayer{.kind = Kind, .window = read_window(fields, std::nullopt)};
  }
  static std::string_view write(const PoolLayer& pool, ordered_json& fields) {
    write_window(fields, pool.window, std::nullopt);
    return pool.kind == PoolKind::max ? "max_pool" : "average_pool";
  }
};

template <>
struct Keys<GlobalPoolLayer> {
  static std::vector<LayerType> types() {
    return {{.name = "global_average_pool",
             .summary = "nn.AdaptiveAvgPool2d(1) of an image",
             .read = read<PoolKind::average>},
            {.name = "global_max_pool",
             .summary = "nn.AdaptiveMaxPool2d(1) of an image",
             .read = read<PoolKind::max>}};
  }
  template <PoolKind Kind>
  static Layer read(const JsonFields& /*fields*/) {
    return GlobalPoolLayer{Kind};
  }
  static std::string_view write(const GlobalPoolLayer& pool, ordered_json& /*fields*/) {
    return pool.kind == PoolKind::max ? "global_max_pool" : "global_average_pool";
  }
};

template <class L>
concept HasNoKeys = requires { LayerTraits<L>::kName; };

template <class L>
std::vector<LayerType> types_of() {
  if constexpr (HasNoKeys<L>)
    return {{.name = LayerTraits<L>::kName,
             .summary = LayerTraits<L>::kSummary,
             .inputs = LayerTraits<L>::kInputs,
             .read = [](const JsonFields& /*fields*/) -> Layer { return L{}; }}};
  else
    return Keys<L>::types();
}

/// In the order of the variant.
template <class... Ls>
std::vector<LayerType> all_types(std::type_identity<std::variant<Ls...>> /*layers*/) {
  std::vector<LayerType> all;
  for (const std::vector<LayerType>& types : {types_of<Ls>()...})
    all.insert(all.end(), types.begin(), types.end());
  return all;
}

}  // namespace

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> types = all_types(std::type_identity<Layer>{});
  return types;
}

std::string_view write_layer(const Layer& layer, ordered_json& fields) {
  return std::visit(
      [&]<class L>(const L& concrete) {
        if constexpr (HasNoKeys<L>)
          return LayerTraits<L>::kName;
        else
          return Keys<L>::write(concrete, fields);
      },
      layer);
}

}  // namespace ptbench
