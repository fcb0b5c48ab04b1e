#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace ptbench::testing {

/// Zero-filled elements, aligned to 64 bytes like every arena, with canaries before and behind. A
/// canary read as a float or bf16 is NaN, and as a label lies outside of all classes: reading over
/// the edge shows in the results, writing over it in `intact`.
template <class T>
class GuardedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit GuardedBuffer(std::size_t elements)
      : elements_(elements),
        memory_(static_cast<std::byte*>(::operator new(size_bytes() + 2 * kGuard, kAlignment))) {
    fill_canaries(memory_.get());
    fill_canaries(memory_.get() + kGuard + size_bytes());
    std::ranges::fill(bytes(), std::byte{0});
  }

  [[nodiscard]] std::span<T> span() const {
    return {reinterpret_cast<T*>(memory_.get() + kGuard), elements_};
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {memory_.get() + kGuard, size_bytes()};
  }

  [[nodiscard]] bool intact() const {
    return are_canaries(memory_.get()) && are_canaries(memory_.get() + kGuard + size_bytes());
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr std::size_t kGuard = 256;  // bytes: four cache lines, so alignment holds

  [[nodiscard]] std::size_t size_bytes() const { return elements_ * sizeof(T); }

  /// 0x7fc1 in every two bytes.
  [[nodiscard]] static std::byte canary(std::size_t index) {
    return index % 2 == 0 ? std::byte{0xc1} : std::byte{0x7f};
  }
  static void fill_canaries(std::byte* guard) {
    for (std::size_t i = 0; i < kGuard; ++i) guard[i] = canary(i);
  }
  [[nodiscard]] static bool are_canaries(const std::byte* guard) {
    for (std::size_t i = 0; i < kGuard; ++i)
      if (guard[i] != canary(i)) return false;
    return true;
  }

  struct Release {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };

  std::size_t elements_;
  std::unique_ptr<std::byte, Release> memory_;
};

}  // namespace ptbench::testing
