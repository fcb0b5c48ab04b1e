#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "src/comm/shm/shared_region.h"
#include "src/device/memory.h"

namespace ptbench {

/// The arena of one rank, in whole pages, first fit. What is released gives its pages back to the
/// system and can be allocated again. What is taken is kept in the region, so that several for one
/// rank never hand the same memory out. Buffers may outlive the arena. All of a rank are for one
/// thread at a time.
class SharedArena final : public MemorySource {
 public:
  SharedArena(const SharedRegion& region, Size rank);

  [[nodiscard]] Buffer allocate(Bytes bytes, std::string_view purpose) override;
  [[nodiscard]] Bytes footprint(Bytes bytes) const override;

  /// Whether [data, data + bytes) lies in the arena.
  [[nodiscard]] bool contains(const std::byte* data, Bytes bytes) const {
    // std::less orders pointers into different objects too.
    return !std::less<>()(data, area_.data()) &&
           !std::less<>()(area_.data() + area_.size(), data + bytes);
  }

 private:
  void release(std::byte* data, Bytes length) const;

  SharedRegion region_;  ///< which it keeps
  std::span<std::byte> area_;
  shared::RankBlock* block_;
};

}  // namespace ptbench
