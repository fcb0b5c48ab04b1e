#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

enum class ElementType : std::uint8_t { f32, bf16 };
[[nodiscard]] constexpr Bytes bytes_of(ElementType type) {
  return type == ElementType::f32 ? 4 : 2;
}
/// "f32", "bf16".
[[nodiscard]] constexpr std::string_view name_of(ElementType type) {
  return type == ElementType::f32 ? "f32" : "bf16";
}

}  // namespace ptbench
