#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tests/cuda_emulator/ptx/types.h"

namespace ptbench::emulator {

/// A piece of memory of a device, or of page-locked memory of the host.
struct Allocation {
  U8* at = nullptr;
  std::size_t bytes = 0;
  U64 number = 0;  ///< in the order of allocating, from 1
  int device = 0;

  [[nodiscard]] bool holds(const void* address) const {
    const auto* byte = static_cast<const U8*>(address);
    return byte >= at && byte < at + bytes;
  }
};

/// Allocations by their addresses.
class AllocationTable {
 public:
  void add(const Allocation& allocation) { entries_[allocation.at] = allocation; }
  /// False where nothing begins there.
  bool remove(const void* at) { return entries_.erase(static_cast<const U8*>(at)) != 0; }
  /// What begins at this address, or null.
  [[nodiscard]] const Allocation* starting_at(const void* at) const;
  /// What holds this address, or null.
  [[nodiscard]] const Allocation* find(const void* address) const;
  /// What begins last at or below this address, or null.
  [[nodiscard]] const Allocation* below(const void* address) const;
  [[nodiscard]] const std::map<const U8*, Allocation>& all() const { return entries_; }

 private:
  std::map<const U8*, Allocation> entries_;
};

/// The memory of all devices: one range of the host's addresses, each device with its part. The
/// host can touch it only while operations do (`open` … `close`). Addresses are given out once, so
/// that memory which was freed is nobody's.
class DeviceMemory {
 public:
  static constexpr std::size_t kSpan = std::size_t{64} << 30U;  ///< addresses of one device

  DeviceMemory(int devices, std::size_t bytes_each);

  /// Null where the device has not as much left.
  [[nodiscard]] U8* allocate(int device, std::size_t bytes);
  /// False where no allocation begins there.
  bool release(void* at);
  [[nodiscard]] std::size_t free_bytes(int device) const;

  [[nodiscard]] const AllocationTable& table() const { return live_; }
  /// Whether an address is among those of devices, allocated or not.
  [[nodiscard]] bool spans(const void* address) const {
    const auto* byte = static_cast<const U8*>(address);
    return byte >= base_ && byte < base_ + devices_ * kSpan;
  }
  [[nodiscard]] const U8* base() const { return base_; }
  [[nodiscard]] std::size_t span() const { return devices_ * kSpan; }
  /// "byte 8 of device allocation 2 (400 bytes)", "4 bytes behind device allocation …".
  [[nodiscard]] std::string describe(const void* address) const;

  /// Each costs as much as there are pages, where it is not so already.
  void open() { protect(true); }
  void close() { protect(false); }

 private:
  void protect(bool accessible);

  U8* base_;
  std::size_t devices_;
  std::size_t bytes_each_;
  AllocationTable live_;
  AllocationTable freed_;
  std::map<U8*, std::size_t> runs_;  ///< of pages that live allocations lie in
  std::map<int, std::size_t> used_;  ///< bytes given out, by device
  std::map<int, std::size_t> next_;  ///< where the next allocation of a device begins
  U64 last_number_ = 0;
  bool is_open_ = false;
};

}  // namespace ptbench::emulator
