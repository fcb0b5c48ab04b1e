#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/element_type.h"
#include "src/base/narrow_floats.h"
#include "src/base/shape.h"
#include "src/base/size.h"

namespace ptbench {

/// How a tensor lies in memory: row-major as the outside knows it, or as the backend likes to keep
/// images (4-D tensors only), which nobody else looks into. Where a backend pads images, the
/// padding is zero: who writes such a tensor writes zeros there.
enum class TensorFormat : std::uint8_t { plain, native };

/// Whole tensor, batch first; images are batch × channels × height × width.
struct TensorSpec {
  Shape shape;
  ElementType type = ElementType::f32;
  TensorFormat format = TensorFormat::plain;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

struct ImageShape {
  Size batch = 0;
  Size channels = 0;
  Size height = 0;
  Size width = 0;
  [[nodiscard]] constexpr Size pixels() const { return height * width; }
  [[nodiscard]] constexpr Size elements() const { return batch * channels * pixels(); }
  [[nodiscard]] Shape shape() const { return {batch, channels, height, width}; }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

/// The image that a tensor of rank 4 holds; rows of values are images of one pixel.
[[nodiscard]] ImageShape image_of(const TensorSpec& tensor);

/// A tensor's bytes as elements of type T; the memory is aligned for it.
template <class T>
[[nodiscard]] std::span<T> elements(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}
template <class T>
[[nodiscard]] std::span<const T> elements(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace ptbench
