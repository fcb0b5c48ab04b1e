#include "workloads/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/log.h"

namespace ptbench {
namespace {

/// A pool looks at all of a window at once.
void check_area(const LayerSite& site, Size height, Size width) {
  constexpr Size kMost = Size{1} << 24U;
  if (height > kMost || width > kMost || height * width > kMost)
    throw site.misfit(fmt::format("pools over {}x{} values", height, width),
                      "pool over at most 2^24 at a time");
}

void check_outputs(const LayerSite& site, Size outputs) {
  if (outputs < 1 || outputs > kMostElements)
    throw site.misfit(fmt::format("has {} outputs", outputs), "give it from 1 to 2^40");
}

void check_window(const LayerSite& site, const Window& w) {
  const auto [least, most] =
      std::minmax({w.kernel_height, w.kernel_width, w.stride_height, w.stride_width});
  const auto [least_padding, most_padding] = std::minmax(w.padding_height, w.padding_width);
  if (least < 1 || least_padding < 0 || most > kMostElements || most_padding > kMostElements)
    throw site.misfit(fmt::format("has a kernel of {}x{}, a stride of {}x{} and a padding of {}x{}",
                                  w.kernel_height, w.kernel_width, w.stride_height, w.stride_width,
                                  w.padding_height, w.padding_width),
                      "give kernels and strides from 1 and paddings from 0, up to 2^40");
}

/// What a window leaves of the input, in so many channels.
Shape windowed(const LayerSite& site, Size channels, const Window& w) {
  site.require_image();
  check_window(site, w);
  const Shape& input = site.input();
  const Size height = w.output_height(input[1]);
  const Size width = w.output_width(input[2]);
  if (height < 1 || width < 1)
    throw site.misfit(fmt::format("has a kernel of {}x{}, and its input with padding is {}x{}",
                                  w.kernel_height, w.kernel_width, input[1] + 2 * w.padding_height,
                                  input[2] + 2 * w.padding_width),
                      "take a smaller kernel, more padding, or fewer strides and pools before it");
  return {channels, height, width};
}

}  // namespace

std::string described(const Shape& shape) {
  return fmt::format("{} of {}", is_image(shape) ? "an image" : "a row", shape.text());
}

Error LayerSite::misfit(const std::string& what, std::string remedy) const {
  return usage_error(fmt::format("layer '{}' {}", printable(name_), what), std::move(remedy));
}

void LayerSite::require_image() const {
  if (!is_image(input()))
    throw misfit(fmt::format("needs an image, and gets {}", described(input())),
                 "give it channels x height x width, or leave it out");
}

Shape LayerTraits<LinearLayer>::shape(const LinearLayer& layer, const LayerSite& site) {
  if (!is_row(site.input()))
    throw site.misfit(
        fmt::format("is linear and needs a row, and gets {}", described(site.input())),
        "put a flatten layer before it");
  check_outputs(site, layer.outputs);
  return {layer.outputs};
}

Shape LayerTraits<Conv2dLayer>::shape(const Conv2dLayer& layer, const LayerSite& site) {
  check_outputs(site, layer.outputs);
  return windowed(site, layer.outputs, layer.window);
}

void LayerTraits<Conv2dLayer>::draw(const Conv2dLayer& layer, ParameterSpec& tensor) {
  if (layer.init != ConvInit::kaiming_normal || tensor.name != "weight") return;
  // He, Zhang, Ren, Sun, "Delving deep into rectifiers" (2015), of the outputs, as torchvision.
  const Size fan_out = tensor.shape.elements() / tensor.shape[1];
  tensor.distribution = Distribution::normal;
  tensor.spread = static_cast<float>(std::sqrt(2.0 / static_cast<double>(fan_out)));
}

Shape LayerTraits<PoolLayer>::shape(const PoolLayer& layer, const LayerSite& site) {
  const Window& w = layer.window;
  site.require_image();
  check_window(site, w);
  check_area(site, w.kernel_height, w.kernel_width);
  // As PyTorch: beyond it, whole windows would lie in the padding.
  if (w.padding_height > w.kernel_height / 2 || w.padding_width > w.kernel_width / 2)
    throw site.misfit(fmt::format("pools over {}x{} with a padding of {}x{}", w.kernel_height,
                                  w.kernel_width, w.padding_height, w.padding_width),
                      "pad by at most half the kernel");
  return windowed(site, site.input()[0], w);
}

Shape LayerTraits<GlobalPoolLayer>::shape(const GlobalPoolLayer& /*layer*/, const LayerSite& site) {
  site.require_image();
  const Shape& input = site.input();
  check_area(site, input[1], input[2]);
  return {input[0], 1, 1};
}

Shape LayerTraits<FlattenLayer>::shape(const FlattenLayer& /*layer*/, const LayerSite& site) {
  site.require_image();
  return {site.input().elements()};
}

Shape LayerTraits<AddLayer>::shape(const AddLayer& /*layer*/, const LayerSite& site) {
  if (site.input(0) != site.input(1))
    throw site.misfit(
        fmt::format("adds {} to {}", described(site.input(1)), described(site.input(0))),
        "add tensors of the same shape");
  return site.input();
}

}  // namespace ptbench
