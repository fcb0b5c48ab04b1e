#include "src/comm/shared_arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "src/base/error.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

constexpr Bytes kHugePage = Bytes{2} << 20U;

Bytes page_for(Bytes bytes) {
  return bytes >= kHugePage ? kHugePage : static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

constexpr Bytes round_up_bytes(Bytes bytes, Bytes multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

/// What is free: begin → size, in bytes from the arena's start.
struct SharedArena::Ranges {
  Ranges(const SharedRegion& shared, Size rank)
      : region(shared), area(shared.arena(rank)), free{{0, area.size()}} {}

  /// Empty if nothing free is long enough.
  [[nodiscard]] std::byte* take(Bytes length, Bytes alignment) {
    for (const auto& [begin, size] : free) {
      const Bytes start = round_up_bytes(begin, alignment);
      if (start + length > begin + size) continue;
      const Bytes end = begin + size;
      const Bytes kept = start - begin;
      if (start + length < end) free.emplace(start + length, end - start - length);
      if (kept > 0)
        free[begin] = kept;
      else
        free.erase(begin);
      return area.data() + start;
    }
    return nullptr;
  }

  void give_back(std::byte* data, Bytes length) {
    // Takes the pages out of the memory for everyone; they read as zero again.
    (void)madvise(data, length, MADV_REMOVE);
    auto range = free.emplace(static_cast<Bytes>(data - area.data()), length).first;
    if (const auto next = std::next(range);
        next != free.end() && range->first + range->second == next->first) {
      range->second += next->second;
      free.erase(next);
    }
    if (range == free.begin()) return;
    if (const auto before = std::prev(range); before->first + before->second == range->first) {
      before->second += range->second;
      free.erase(range);
    }
  }

  SharedRegion region;
  std::span<std::byte> area;
  std::map<Bytes, Bytes> free;
};

SharedArena::SharedArena(const SharedRegion& region, Size rank)
    : ranges_(std::make_shared<Ranges>(region, rank)) {}

Buffer SharedArena::allocate(Bytes bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  const Bytes length = footprint(bytes);
  std::byte* data = length >= bytes ? ranges_->take(length, page_for(bytes)) : nullptr;
  if (data == nullptr)
    throw usage_error(fmt::format("no shared memory for {}: {} asked for, a rank has {}", purpose,
                                  format_bytes(bytes), format_bytes(ranges_->area.size())),
                      "choose a smaller --batch-size or model");
  return {data, bytes,
          [ranges = ranges_, length](std::byte* start) { ranges->give_back(start, length); }};
}

Bytes SharedArena::footprint(Bytes bytes) const { return round_up_bytes(bytes, page_for(bytes)); }

bool SharedArena::contains(const std::byte* data, Bytes bytes) const {
  const std::span<std::byte> area = ranges_->area;
  // std::less orders pointers into different objects too.
  return !std::less<>()(data, area.data()) &&
         !std::less<>()(area.data() + area.size(), data + bytes);
}

}  // namespace ptbench
