#include "src/comm/shm/shared_arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

#include "src/base/error.h"
#include "src/base/huge_page.h"
#include "src/base/units.h"

namespace ptbench {
namespace {

Bytes page_for(Bytes bytes) {
  return bytes >= kHugePage ? kHugePage : static_cast<Bytes>(sysconf(_SC_PAGESIZE));
}

}  // namespace

SharedArena::SharedArena(const SharedRegion& region, Size rank)
    : region_(region), area_(region.arena(rank)), block_(&region.rank_block(rank)) {}

Buffer SharedArena::allocate(Bytes bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  auto& taken = block_->taken;
  ensure(!taken.is_full(), "a rank's arena has fewer buffers out than it can count");
  const Bytes length = footprint(bytes);
  const auto begin = length >= bytes ? taken.take(length, page_for(bytes), area_.size())
                                     : std::nullopt;  // it wrapped around
  if (!begin)
    throw usage_error(fmt::format("no shared memory for {}: {} asked for, a rank has {}", purpose,
                                  format_bytes(bytes), format_bytes(area_.size())),
                      "choose a smaller --batch-size or model");
  return {area_.data() + *begin, bytes,
          [arena = *this, length](std::byte* data) { arena.release(data, length); }};
}

void SharedArena::release(std::byte* data, Bytes length) const {
  // Takes the pages out of the memory for everyone; they read as zero again.
  (void)madvise(data, length, MADV_REMOVE);
  block_->taken.give_back(static_cast<Bytes>(data - area_.data()));
}

Bytes SharedArena::footprint(Bytes bytes) const { return round_up(bytes, page_for(bytes)); }

}  // namespace ptbench
