#include "tests/cuda_emulator/cudnn/tensor.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/cuda_emulator/cudnn/refusal.h"
#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

Element element_of(const Descriptor& descriptor) {
  switch (descriptor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)) {
    case CUDNN_DATA_FLOAT: return Element::f32;
    case CUDNN_DATA_BFLOAT16: return Element::bf16;
    case CUDNN_DATA_HALF: return Element::f16;
    default:
      throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a tensor is not fp32, bf16 or fp16");
  }
}

/// Dimensions of a tensor by their strides, the smallest first; those of one element are left out.
std::vector<std::size_t> by_stride(const Tensor& tensor) {
  std::vector<std::size_t> order(tensor.dimensions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t index) { return tensor.dimensions[index] == 1; });
  std::ranges::sort(order, {}, [&](std::size_t index) { return tensor.strides[index]; });
  return order;
}

}  // namespace

std::size_t Tensor::elements() const {
  return static_cast<std::size_t>(
      std::accumulate(dimensions.begin(), dimensions.end(), std::int64_t{1}, std::multiplies<>()));
}

Tensor tensor_of(const Descriptor& descriptor) {
  Tensor tensor{.id = descriptor.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
                .element = element_of(descriptor),
                .dimensions = descriptor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                .strides = descriptor.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
                .alignment = descriptor.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
                .is_virtual = descriptor.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)};
  const auto is_positive = [](std::int64_t value) { return value > 0; };
  if (tensor.dimensions.size() != tensor.strides.size())
    bad_parameter("a tensor has another number of strides than of dimensions");
  if (!std::ranges::all_of(tensor.dimensions, is_positive) ||
      !std::ranges::all_of(tensor.strides, is_positive))
    bad_parameter("a tensor of " + shape_of(tensor) + " has dimensions or strides below 1");
  if (tensor.alignment < 1 ||
      tensor.alignment % static_cast<std::int64_t>(bytes_of(tensor.element)) != 0)
    bad_parameter("a tensor's elements do not keep to an alignment of " +
                  std::to_string(tensor.alignment) + " bytes");
  return tensor;
}

Extent extent_of(const void* data, const Tensor& tensor) {
  std::int64_t last = 0;
  for (std::size_t index = 0; index < tensor.dimensions.size(); ++index)
    last += (tensor.dimensions[index] - 1) * tensor.strides[index];
  return {data, static_cast<std::size_t>(last + 1) * bytes_of(tensor.element)};
}

std::string shape_of(const Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.dimensions)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void touch(const char* what, const void* data, const Tensor& tensor, bool writes) {
  // Elements that lie behind each other are touched together.
  const std::vector<std::size_t> order = by_stride(tensor);
  std::int64_t together = 1;
  std::size_t next = 0;
  while (next < order.size() && tensor.strides[order[next]] == together)
    together *= tensor.dimensions[order[next++]];
  const std::size_t bytes = bytes_of(tensor.element);
  std::vector<std::int64_t> at(order.size(), 0);
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t place = next; place < order.size(); ++place)
      offset += at[place] * tensor.strides[order[place]];
    ptbench_emulator_touch(what,
                           static_cast<const U8*>(data) + static_cast<std::size_t>(offset) * bytes,
                           static_cast<std::size_t>(together) * bytes, writes);
    std::size_t place = next;
    while (place < order.size() && ++at[place] == tensor.dimensions[order[place]]) at[place++] = 0;
    if (place == order.size()) return;
  }
}

Placement::Placement(const Tensor& tensor, const Tensor& shape) {
  for (std::size_t index = 0; index < strides_.size(); ++index)
    strides_[index] = tensor.dimensions[index] == 1 && shape.dimensions[index] != 1
                          ? 0
                          : static_cast<std::size_t>(tensor.strides[index]);
}

std::vector<float> dense(const void* data, const Tensor& tensor) {
  const Placement placement(tensor, tensor);
  std::vector<float> values(tensor.elements());
  for_each_element(tensor, [&](std::size_t index, std::size_t image, std::size_t row,
                               std::size_t column, std::size_t channel) {
    values[index] = load(tensor.element, data, placement.at(image, row, column, channel));
  });
  return values;
}

}  // namespace ptbench::emulator
