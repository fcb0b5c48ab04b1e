#pragma once

#include <cstddef>

#include "tests/cuda_emulator/ptx/types.h"

namespace ptbench::emulator {

/// A stack on which a function runs until it switches to another. For x86-64.
class Fiber {
 public:
  static constexpr std::size_t kStackBytes = std::size_t{128} << 10U;

  /// The stack that the caller runs on.
  Fiber() = default;
  /// A stack of its own, on which `body`, which never returns, begins at the first switch.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on with `to`, and returns when somebody switches to this fiber, which runs now.
  void switch_to(Fiber& to);
  /// The first thing that a body does.
  static void arrived();
  [[nodiscard]] bool holds(const void* address) const {
    const auto* byte = static_cast<const U8*>(address);
    return stack_ != nullptr && byte >= stack_ && byte < stack_ + kStackBytes;
  }

 private:
  void* stack_pointer_ = nullptr;
  U8* stack_ = nullptr;
  void* sanitizer_ = nullptr;
};

}  // namespace ptbench::emulator
