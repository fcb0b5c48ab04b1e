#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/element_type.h"
#include "src/base/error.h"
#include "src/base/narrow_floats.h"

namespace ptbench {

/// Room on the host for values of samples, one after the other, kept as float, Bf16 or F16. A view.
class SampleValues {
 public:
  SampleValues() = default;
  /// `bytes` holds values of `type` and is aligned for them.
  SampleValues(std::span<std::byte> bytes, ElementType type)
      : bytes_(bytes), type_(kept_type(type)) {
    ensure(bytes.size() % bytes_of(type_) == 0, "values are whole");
  }
  /// Of floats.
  template <class Floats>
    requires std::convertible_to<Floats&, std::span<float>>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): a view converts.
  SampleValues(Floats&& floats) : bytes_(std::as_writable_bytes(std::span<float>(floats))) {}

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  /// Values, not bytes.
  [[nodiscard]] std::size_t size() const { return bytes_.size() / bytes_of(type_); }
  [[nodiscard]] SampleValues part(std::size_t begin, std::size_t count) const {
    const std::size_t each = bytes_of(type_);
    return {bytes_.subspan(begin * each, count * each), type_};
  }
  /// T is the C++ type of type().
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    ensure(sizeof(T) == bytes_of(type_), "values are read as what they are");
    return {reinterpret_cast<T*>(bytes_.data()), size()};
  }

 private:
  std::span<std::byte> bytes_;
  ElementType type_ = ElementType::f32;
};

/// Room on the host for one micro-batch.
struct BatchRoom {
  SampleValues inputs;             ///< micro-batch × sample elements
  std::span<std::int32_t> labels;  ///< micro-batch
};

}  // namespace ptbench
