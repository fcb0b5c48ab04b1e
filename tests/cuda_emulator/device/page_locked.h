#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_emulator/device/memory.h"

namespace ptbench::emulator {

/// Memory of the host that copies work on while the host goes on: allocated by the runtime, or
/// registered with it.
class PageLockedMemory {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// False where no allocation begins there.
  bool release(void* at);
  /// False where it overlaps with what is page-locked already.
  bool add(void* at, std::size_t bytes);
  bool remove(void* at);

  /// Whether all of the range is page-locked.
  [[nodiscard]] bool holds(const void* at, std::size_t bytes) const;
  [[nodiscard]] std::string describe(const void* at) const;
  [[nodiscard]] const AllocationTable& allocated() const { return allocated_; }

 private:
  AllocationTable allocated_;
  AllocationTable registered_;
  U64 last_number_ = 0;
};

/// What page-locked memory held when a copy from it was asked for. The copy is done later: where
/// the host has changed it by then, it did so too early.
class PageLockedSource {
 public:
  PageLockedSource(const void* at, std::size_t bytes);
  [[nodiscard]] bool is_unchanged() const;

 private:
  const U8* at_;
  std::vector<U8> seen_;
};

}  // namespace ptbench::emulator
