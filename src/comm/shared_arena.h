#pragma once

#include <memory>
#include <string_view>

#include "src/comm/shared_region.h"
#include "src/device/memory.h"

namespace ptbench {

/// The arena of one rank, in whole pages, first fit. What is released gives its pages back to the
/// system and can be allocated again. Buffers may outlive the arena. For one thread.
class SharedArena final : public MemorySource {
 public:
  SharedArena(const SharedRegion& region, Size rank);

  [[nodiscard]] Buffer allocate(Bytes bytes, std::string_view purpose) override;
  [[nodiscard]] Bytes footprint(Bytes bytes) const override;

  /// Whether [data, data + bytes) lies in the arena.
  [[nodiscard]] bool contains(const std::byte* data, Bytes bytes) const;

 private:
  struct Ranges;
  std::shared_ptr<Ranges> ranges_;
};

}  // namespace ptbench
