#include "tests/support/operator_specs.h"

#include <array>
#include <span>

namespace ptbench::testing {
namespace {

using enum ElementType;
using enum TensorFormat;

constexpr std::array kTypes{f32, bf16, f16};
constexpr std::array kProductTypes{f32, bf16, f16, tf32};

template <class Any, class Spec>
void append(std::vector<Any>& all, const std::vector<Spec>& specs) {
  all.insert(all.end(), specs.begin(), specs.end());
}

/// Each spec in each of `types`.
template <class Spec>
std::vector<Spec> in_types(std::span<const ElementType> types, const std::vector<Spec>& specs) {
  std::vector<Spec> all;
  for (Spec spec : specs) {
    for (const ElementType type : types) {
      spec.type = type;
      all.push_back(spec);
    }
  }
  return all;
}

/// What element-wise operators work on: rows and images with whole and with broken blocks.
std::vector<TensorSpec> tensor_specs() {
  std::vector<TensorSpec> tensors;
  for (const ElementType type : kTypes) {
    tensors.push_back({.shape = {1, 1}, .type = type, .format = plain});
    tensors.push_back({.shape = {3, 17}, .type = type, .format = plain});
    tensors.push_back({.shape = {7, 3, 5, 2}, .type = type, .format = plain});
    tensors.push_back({.shape = {1, 1, 1, 1}, .type = type, .format = native});
    tensors.push_back({.shape = {2, 17, 3, 5}, .type = type, .format = native});
    tensors.push_back({.shape = {5, 33, 2, 1}, .type = type, .format = native});
    tensors.push_back({.shape = {2, 64, 8, 8}, .type = type, .format = native});
  }
  tensors.push_back({.shape = {20'011}, .type = f32, .format = plain});
  return tensors;
}

}  // namespace

std::vector<LinearSpec> linear_specs() {
  std::vector<LinearSpec> specs{
      {.batch = 1, .inputs = 1, .outputs = 1},
      {.batch = 1, .inputs = 10, .outputs = 2, .relu = true, .input_gradient = false},
      {.batch = 1, .inputs = 784, .outputs = 13, .relu = true},
      {.batch = 3, .inputs = 10, .outputs = 2, .input_gradient = false},
      {.batch = 3, .inputs = 64, .outputs = 512, .relu = true, .input_gradient = false},
      {.batch = 7, .inputs = 17, .outputs = 13, .relu = true},
      {.batch = 7, .inputs = 17, .outputs = 1024, .input_gradient = false},
      {.batch = 32, .inputs = 10, .outputs = 2, .input_gradient = false},
      {.batch = 33, .inputs = 1, .outputs = 512, .relu = true},
      {.batch = 33, .inputs = 64, .outputs = 10},
      {.batch = 33, .inputs = 784, .outputs = 128, .relu = true},
      {.batch = 128, .inputs = 10, .outputs = 1},
      {.batch = 128, .inputs = 17, .outputs = 2, .relu = true},
      {.batch = 32, .inputs = 64, .outputs = 1024, .relu = true, .input_gradient = false},
      {.batch = 128, .inputs = 512, .outputs = 10},
  };
  const std::vector<LinearSpec> narrow =
      in_types<LinearSpec>(std::span(kProductTypes).subspan(1),
                           {{.batch = 1, .inputs = 1, .outputs = 1},
                            {.batch = 1, .inputs = 784, .outputs = 13, .relu = true},
                            {.batch = 3, .inputs = 64, .outputs = 512, .input_gradient = false},
                            {.batch = 7, .inputs = 17, .outputs = 13, .relu = true},
                            {.batch = 33, .inputs = 65, .outputs = 10},
                            {.batch = 33, .inputs = 1, .outputs = 128, .relu = true},
                            {.batch = 32, .inputs = 144, .outputs = 96, .relu = true},
                            {.batch = 64, .inputs = 64, .outputs = 160, .input_gradient = false},
                            {.batch = 128, .inputs = 512, .outputs = 10}});
  append(specs, narrow);
  return specs;
}

ImageShape image(Size batch, Size channels, Size height, Size width) {
  return {.batch = batch, .channels = channels, .height = height, .width = width};
}

// Height and width of the kernel, then of the stride, then of the padding.
constexpr Window kUneven{3, 1, 1, 2, 1, 0};
constexpr Window kPaddedUnevenly{3, 3, 1, 1, 1, 2};
constexpr Window kWide{2, 5, 3, 2, 0, 2};

/// `spec` of that input, with so many outputs.
Conv2dSpec conv(const ImageShape& input, Size outputs, const Window& window, Conv2dSpec spec = {}) {
  spec.input = input;
  spec.outputs = outputs;
  spec.window = window;
  return spec;
}
constexpr Conv2dSpec kWithAll{.bias = true, .add = true, .relu = true};

std::vector<Conv2dSpec> conv2d_specs() {
  return in_types<Conv2dSpec>(
      kProductTypes,
      {
          // One pixel, one channel.
          conv(image(1, 1, 1, 1), 1, Window::square(1), {.bias = true}),
          conv(image(2, 17, 1, 1), 3, Window::square(3, 1, 1)),
          // First layers: plain data of one or three channels.
          conv(image(3, 1, 9, 7), 8, Window::square(3, 1, 1),
               {.bias = true, .relu = true, .plain_input = true, .input_gradient = false}),
          conv(image(2, 3, 15, 13), 16, Window::square(7, 2, 3),
               {.plain_input = true, .input_gradient = false}),
          conv(image(1, 3, 5, 5), 17, Window::square(3), {.plain_input = true}),
          // One sample and broken blocks.
          conv(image(1, 33, 5, 6), 17, Window::square(3, 1, 1), {.bias = true}),
          conv(image(5, 17, 4, 3), 33, Window::square(1)),
          conv(image(2, 3, 6, 6), 33, Window::square(3, 1, 1)),
          // Strides that leave a rest; kernels larger and smaller than their stride.
          conv(image(3, 16, 8, 7), 32, Window::square(3, 2, 1)),
          conv(image(2, 32, 7, 7), 16, Window::square(1, 2)),
          conv(image(2, 16, 9, 8), 16, Window::square(2, 3)),
          conv(image(2, 16, 6, 5), 16, Window::square(5, 1, 2), {.bias = true}),
          // Not square; padded more than needed.
          conv(image(2, 17, 5, 8), 16, kUneven, {.bias = true, .add = true}),
          conv(image(2, 16, 9, 7), 5, kWide),
          conv(image(2, 16, 3, 3), 16, Window::square(3, 1, 3)),
          conv(image(1, 3, 4, 4), 3, Window::square(1, 1, 1), {.bias = true}),
          // Tiles enough for Winograd's filtering, of which the edges cut some.
          conv(image(4, 33, 9, 10), 17, kPaddedUnevenly, kWithAll),
          // The same of stride 2: odd and even sides, and tiles that lie whole in the image.
          conv(image(4, 33, 17, 12), 17, Window::square(3, 2, 1), kWithAll),
          conv(image(4, 16, 31, 26), 48, Window::square(3, 2, 1)),
          // With what follows in one pass; cut by channels too.
          conv(image(1, 33, 5, 6), 17, Window::square(3, 1, 1), kWithAll),
          conv(image(2, 64, 4, 4), 64, Window::square(3, 1, 1), kWithAll),
          conv(image(3, 32, 6, 6), 33, Window::square(3, 1, 1), {.bias = true, .relu = true}),
          // As residual networks have them.
          conv(image(2, 64, 8, 8), 64, Window::square(3, 1, 1)),
          conv(image(3, 32, 6, 6), 64, Window::square(3, 2, 1)),
          conv(image(4, 64, 4, 4), 32, Window::square(3, 1, 1), {.input_gradient = false}),
      });
}

std::vector<BatchNormSpec> batch_norm_specs() {
  return in_types<BatchNormSpec>(
      kTypes, {
                  {.input = image(1, 1, 1, 1)},
                  {.input = image(1, 17, 1, 1), .add = true, .relu = true},
                  {.input = image(2, 3, 1, 1), .relu = true},
                  {.input = image(7, 33, 1, 1)},
                  {.input = image(1, 16, 5, 7), .relu = true, .gradient_terms = 2},
                  {.input = image(3, 17, 4, 3), .add = true},
                  {.input = image(3, 5, 3, 5), .add = true, .relu = true, .gradient_terms = 2},
                  {.input = image(2, 1, 9, 2), .gradient_terms = 2},
                  {.input = image(2, 33, 3, 3), .relu = true, .input_gradient = false},
                  {.input = image(2, 64, 8, 8), .add = true, .relu = true},
                  {.input = image(5, 32, 6, 6), .relu = true},
                  {.input = image(2, 33, 9, 15), .add = true, .relu = true, .gradient_terms = 2},
                  // More channels and rows than a tile of a GPU's kernels, and many slices of rows.
                  {.input = image(2, 264, 5, 7), .relu = true, .gradient_terms = 2},
                  {.input = image(4, 33, 17, 16), .add = true, .relu = true},
              });
}

std::vector<ReluSpec> relu_specs() {
  std::vector<ReluSpec> specs;
  for (const TensorSpec& tensor : tensor_specs()) specs.push_back({.tensor = tensor});
  specs.push_back({.tensor = {.shape = {10, 100}}, .input_gradient = false});
  return specs;
}

std::vector<GeluSpec> gelu_specs() {
  std::vector<GeluSpec> specs;
  for (const TensorSpec& tensor : tensor_specs()) specs.push_back({.tensor = tensor});
  specs.push_back({.tensor = {.shape = {10, 100}}, .input_gradient = false});
  return specs;
}

std::vector<AddSpec> add_specs() {
  std::vector<AddSpec> specs;
  for (const TensorSpec& tensor : tensor_specs()) specs.push_back({.tensor = tensor});
  return specs;
}

std::vector<ForkSpec> fork_specs() {
  std::vector<ForkSpec> specs;
  Size terms = 2;
  for (const TensorSpec& tensor : tensor_specs()) {
    specs.push_back({.tensor = tensor, .gradient_terms = terms});
    terms = terms == 2 ? 3 : 2;
  }
  specs.push_back({.tensor = {.shape = {2, 3}}, .gradient_terms = 1});
  return specs;
}

std::vector<PoolSpec> pool_specs() {
  const Window uneven{1, 4, 2, 3, 0, 2};
  const Window whole{4, 2, 1, 1};
  const Window large = Window::square(17, 2, 4);  // no byte holds a position in it
  std::vector<PoolSpec> specs;
  for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
    for (const PoolSpec& spec : in_types<PoolSpec>(
             kTypes, {
                         {.input = image(1, 1, 1, 1), .window = Window::square(1)},
                         {.input = image(3, 17, 6, 8), .window = Window::square(2, 2)},
                         {.input = image(2, 33, 7, 5), .window = Window::square(3, 2, 1)},
                         {.input = image(1, 3, 5, 5), .window = Window::square(3, 1, 1)},
                         {.input = image(2, 16, 7, 8),
                          .window = Window::square(2, 3),
                          .input_gradient = false},
                         {.input = image(5, 5, 6, 9), .window = uneven},
                         {.input = image(2, 17, 4, 2), .window = whole},
                         {.input = image(2, 64, 8, 8), .window = Window::square(4, 2, 1)},
                         {.input = image(2, 24, 12, 13), .window = large},
                         // Windows that a GPU's threads share, with packs of channels in some types
                         // and single channels; the last warp has fewer pixels than threads.
                         {.input = image(1, 12, 7, 9), .window = Window::square(4, 3)},
                         {.input = image(3, 5, 6, 7), .window = Window::square(5, 1)},
                     })) {
      specs.push_back(spec);
      specs.back().kind = kind;
    }
  }
  return specs;
}

std::vector<ReorderSpec> reorder_specs() {
  std::vector<ReorderSpec> specs;
  const auto between = [&](TensorSpec from, TensorSpec to, bool input_gradient = true) {
    for (const ElementType from_type : kTypes) {
      for (const ElementType to_type : kTypes) {
        if (from_type != f32 && to_type != f32 && from_type != to_type) continue;
        from.type = from_type;
        to.type = to_type;
        specs.push_back({.from = from, .to = to, .input_gradient = input_gradient});
      }
    }
  };
  const auto rows = [](Size batch, Size values) {
    return TensorSpec{.shape = {batch, values}, .type = f32, .format = plain};
  };
  const auto image = [](const Shape& shape, TensorFormat format) {
    return TensorSpec{.shape = shape, .type = f32, .format = format};
  };
  between(rows(1, 1), rows(1, 1));
  between(rows(3, 17), rows(3, 17), false);
  between(image({2, 3, 5, 4}, plain), image({2, 3, 5, 4}, native), false);
  between(image({3, 17, 2, 3}, native), rows(3, 102));
  between(image({5, 33, 1, 1}, native), rows(5, 33));
  between(rows(2, 144), image({2, 16, 3, 3}, native));
  between(image({2, 64, 4, 4}, native), image({2, 64, 4, 4}, plain));
  between(image({2, 40, 7, 6}, plain), image({2, 40, 7, 6}, native));
  between(image({2, 3, 40, 30}, native), image({2, 3, 40, 30}, plain));
  return specs;
}

std::vector<SoftmaxCrossEntropySpec> loss_specs() {
  std::vector<SoftmaxCrossEntropySpec> specs{
      {.batch = 1, .classes = 2, .global_batch = 1},
      {.batch = 3, .classes = 10, .global_batch = 3},
      {.batch = 7, .classes = 1, .global_batch = 7},
      {.batch = 33, .classes = 13, .global_batch = 100},
      {.batch = 128, .classes = 10, .global_batch = 128},
      {.batch = 64, .classes = 1000, .global_batch = 128},
      // More losses than the threads that a GPU adds them with.
      {.batch = 257, .classes = 3, .global_batch = 257},
      {.batch = 259, .classes = 2, .global_batch = 518}};
  append(specs,
         in_types<SoftmaxCrossEntropySpec>(std::span(kTypes).subspan(1),
                                           {{.batch = 1, .classes = 3, .global_batch = 1},
                                            {.batch = 33, .classes = 10, .global_batch = 100},
                                            {.batch = 16, .classes = 101, .global_batch = 16}}));
  return specs;
}

std::vector<OperatorSpec> exact_specs() {
  std::vector<OperatorSpec> specs;
  append(specs, linear_specs());
  append(specs, conv2d_specs());
  append(specs, relu_specs());
  append(specs, add_specs());
  append(specs, fork_specs());
  for (const PoolSpec& spec : pool_specs()) {
    // A mean of small integers is exact where it divides by a power of two.
    const Size size = spec.window.kernel_height * spec.window.kernel_width;
    if (spec.kind == PoolKind::max || (size & (size - 1)) == 0) specs.emplace_back(spec);
  }
  append(specs, reorder_specs());
  return specs;
}

std::vector<OperatorSpec> contract_specs() {
  std::vector<OperatorSpec> specs;
  append(specs, linear_specs());
  append(specs, conv2d_specs());
  append(specs, batch_norm_specs());
  append(specs, relu_specs());
  append(specs, gelu_specs());
  append(specs, add_specs());
  append(specs, fork_specs());
  append(specs, pool_specs());
  append(specs, reorder_specs());
  append(specs, loss_specs());
  return specs;
}

ElementType type_of(const OperatorSpec& spec) { return tensors_of(spec).inputs.front().type; }

}  // namespace ptbench::testing
