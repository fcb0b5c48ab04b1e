#pragma once

#include <cstdint>
#include <string_view>

namespace ptbench {

/// FNV-1a, 64 bits (Fowler, Noll, Vo): names plans and cache files; not for security.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text,
                                            std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

/// The same step with a whole word for a letter, where letters would take too long.
[[nodiscard]] constexpr std::uint64_t fnv1a_word(std::uint64_t word, std::uint64_t hash) {
  return (hash ^ word) * 0x100000001b3U;
}

}  // namespace ptbench
