#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// How values are kept, and multiplied. `tf32` is f32 in memory, of which products may take no more
/// than ten bits of fraction; no tensor's type.
enum class ElementType : std::uint8_t { f32, bf16, f16, tf32 };

/// As which values lie in memory that are multiplied as `type`.
[[nodiscard]] constexpr ElementType kept_type(ElementType type) {
  return type == ElementType::tf32 ? ElementType::f32 : type;
}
[[nodiscard]] constexpr Bytes bytes_of(ElementType type) {
  return kept_type(type) == ElementType::f32 ? 4 : 2;
}
/// "f32", "bf16", "f16", "tf32".
[[nodiscard]] constexpr std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::f32: return "f32";
    case ElementType::bf16: return "bf16";
    case ElementType::f16: return "f16";
    case ElementType::tf32: return "tf32";
  }
  return "";
}

}  // namespace ptbench
