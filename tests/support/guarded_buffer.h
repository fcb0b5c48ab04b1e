#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace ptbench::testing {

/// Zero-filled elements of four bytes, aligned to 64 bytes like every arena, with canaries before
/// and behind. A canary read as a float is NaN: reading over the edge shows in the results, writing
/// over it in `intact`.
template <class T>
class GuardedBuffer {
  static_assert(sizeof(T) == sizeof(std::uint32_t));

 public:
  explicit GuardedBuffer(std::size_t elements)
      : elements_(elements),
        data_(static_cast<T*>(::operator new((elements + 2 * kGuard) * sizeof(T), kAlignment))) {
    std::fill_n(data_.get(), elements + 2 * kGuard, std::bit_cast<T>(kCanary));
    std::ranges::fill(span(), T{});
  }

  [[nodiscard]] std::span<T> span() const { return {data_.get() + kGuard, elements_}; }

  [[nodiscard]] bool intact() const {
    const auto is_canary = [](const T& element) {
      return std::bit_cast<std::uint32_t>(element) == kCanary;
    };
    return std::all_of(data_.get(), data_.get() + kGuard, is_canary) &&
           std::all_of(span().data() + elements_, span().data() + elements_ + kGuard, is_canary);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr std::size_t kGuard = 64;  // elements: four cache lines, so alignment holds
  static constexpr std::uint32_t kCanary = 0x7FC0'CA5EU;

  struct Release {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };

  std::size_t elements_;
  std::unique_ptr<T, Release> data_;
};

}  // namespace ptbench::testing
