#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda_emulator/arithmetic/element.h"
#include "tests/cuda_emulator/arithmetic/workspace.h"
#include "tests/cuda_emulator/cudnn/descriptor.h"

namespace ptbench::emulator {

/// A tensor as its descriptor tells it.
struct Tensor {
  std::int64_t id = 0;
  Element element = Element::f32;
  std::vector<std::int64_t> dimensions;
  std::vector<std::int64_t> strides;  ///< in elements
  std::int64_t alignment = 1;         ///< in bytes
  bool is_virtual = false;            ///< lies in no memory

  bool operator==(const Tensor&) const = default;
  [[nodiscard]] std::size_t elements() const;
};

/// Throws Refusal where the attributes do not make a tensor.
[[nodiscard]] Tensor tensor_of(const Descriptor& descriptor);
/// The memory from the tensor's first element at `data` to its last.
[[nodiscard]] Extent extent_of(const void* data, const Tensor& tensor);
/// "2 x 3 x 8 x 8".
[[nodiscard]] std::string shape_of(const Tensor& tensor);

// Tensors of four dimensions in device memory: images, channels, rows, columns in that order,
// whatever their strides are.

/// Tells the device that an operation reads or writes all elements.
void touch(const char* what, const void* data, const Tensor& tensor, bool writes);

/// Where the elements of a tensor lie. It may have 1 in place of dimensions of `shape`, and is then
/// the same all along.
class Placement {
 public:
  Placement(const Tensor& tensor, const Tensor& shape);
  /// In elements from the tensor's first.
  [[nodiscard]] std::size_t at(std::size_t image, std::size_t row, std::size_t column,
                               std::size_t channel) const {
    return image * strides_[0] + channel * strides_[1] + row * strides_[2] + column * strides_[3];
  }

 private:
  std::array<std::size_t, 4> strides_{};
};

/// Calls `visit(index, image, row, column, channel)` for all elements, in the order of
/// [images][rows][columns][channels], with index counting them.
template <class Visit>
void for_each_element(const Tensor& shape, Visit visit) {
  const auto size = [&](std::size_t dimension) {
    return static_cast<std::size_t>(shape.dimensions[dimension]);
  };
  std::size_t index = 0;
  for (std::size_t image = 0; image < size(0); ++image)
    for (std::size_t row = 0; row < size(2); ++row)
      for (std::size_t column = 0; column < size(3); ++column)
        for (std::size_t channel = 0; channel < size(1); ++channel)
          visit(index++, image, row, column, channel);
}

/// All elements as [images][rows][columns][channels] without gaps.
[[nodiscard]] std::vector<float> dense(const void* data, const Tensor& tensor);

}  // namespace ptbench::emulator
