#include "src/comm/shm/shared_region.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/huge_page.h"
#include "src/base/log.h"
#include "src/base/units.h"
#include "src/comm/shm/shared_wait.h"
#include "src/device/memory.h"

namespace ptbench {
namespace {

// What the addresses of a process leave room for, on every 64-bit system.
constexpr Bytes kMostBytes = Bytes{1} << 46U;

constexpr Bytes kPage = 4096;

/// Of an arena, and of a staging area for data. An odd number of huge pages: AMD's first caches
/// take addresses for the same one when their bits 12 to 27 are, so that equal offsets in arenas a
/// multiple of 256 MiB apart would evict each other all the time (measured on Zen 4: 7 times
/// slower).
constexpr Bytes area_of(Bytes bytes_per_rank) {
  return (round_up(bytes_per_rank, kHugePage) / kHugePage | 1U) * kHugePage;
}

/// Where everything lies, a function of two numbers.
struct Layout {
  Layout(Size world_size, Bytes bytes_per_rank)
      : ranks(static_cast<Bytes>(world_size)),
        blocks(round_up(Bytes{sizeof(shared::Header)}, shared::kLinePair)),
        phases(blocks + ranks * sizeof(shared::RankBlock)),
        rings(round_up(phases + ranks * sizeof(PhaseBoard::Slot), kPage)),
        mailboxes(round_up(lanes_of(shared::kChannels), kPage)),
        areas(round_up(mailboxes + shared::kChannels * ranks * ranks * sizeof(shared::Mailbox),
                       kHugePage)),
        area(area_of(bytes_per_rank)),
        small_areas(areas + 2 * ranks * area),
        small_area(std::min(area, area_of(kSmallArea))),
        total(small_areas + ranks * (shared::kChannels - 1) * small_area) {}

  /// The rings of all ranks in one channel lie together.
  [[nodiscard]] Bytes lanes_of(std::size_t channel) const {
    const Bytes before = channel == 0 ? 0 : lane_bytes(0) + (channel - 1) * lane_bytes(1);
    return rings + ranks * before;
  }
  [[nodiscard]] static Bytes lane_bytes(std::size_t channel) {
    return sizeof(shared::OperationRing) + shared::slots_of(channel) * sizeof(shared::Slot);
  }
  [[nodiscard]] Bytes ring(std::size_t channel, Size rank) const {
    return lanes_of(channel) + static_cast<Bytes>(rank) * lane_bytes(channel);
  }

  /// Staged values of control messages and groups, so that many channels take few addresses.
  static constexpr Bytes kSmallArea = Bytes{64} << 20U;

  Bytes ranks;
  Bytes blocks;
  Bytes phases;
  Bytes rings;
  Bytes mailboxes;    ///< of each channel, of each sender, for each receiver
  Bytes areas;        ///< arena and staging area of rank 0, of rank 1, …
  Bytes area;         ///< bytes of either
  Bytes small_areas;  ///< staging areas of rank 0 for channel 1, 2, …, of rank 1, …
  Bytes small_area;   ///< bytes of one
  Bytes total;
};

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

/// The kernel counts shared memory as a file.
std::string remedy_for(int error_number) {
  switch (error_number) {
    case EFBIG: return "raise the limit of file sizes (ulimit -f), which applies to shared memory";
    case EMFILE:
    case ENFILE: return "raise the limit of open files (ulimit -n)";
    default: return remedy_for_no_memory("use fewer ranks");
  }
}

Error refused(Bytes bytes, int error_number) {
  return usage_error(fmt::format("no shared memory for {}: {}", format_bytes(bytes),
                                 std::generic_category().message(error_number)),
                     remedy_for(error_number));
}

Error not_a_region(int descriptor, std::string_view why) {
  return run_error(
      fmt::format("descriptor {} is not the shared memory of ranks: {}", descriptor, why),
      "start all ranks with the same ptbench");
}

}  // namespace

/// The descriptor and what it shows, for the life of the object.
class SharedRegion::Mapping {
 public:
  Mapping(int descriptor, Bytes bytes) : descriptor_(descriptor), bytes_(bytes) {
    // Room to align the start, so that huge pages fit, where the kernel has them for shared memory.
    reserved_ = bytes + kHugePage;
    void* reserved = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) fail(errno);
    base_ = reserved;
    const auto address = reinterpret_cast<std::uintptr_t>(reserved);
    void* start = reinterpret_cast<void*>(round_up(address, kHugePage));
    if (mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
             descriptor, 0) == MAP_FAILED) {
      const int error_number = errno;
      munmap(base_, reserved_);
      fail(error_number);
    }
    start_ = static_cast<std::byte*>(start);
    (void)madvise(start, bytes, MADV_HUGEPAGE);  // advice only: small pages work too
  }
  ~Mapping() {
    munmap(base_, reserved_);
    close(descriptor_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::byte* start() const { return start_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] shared::Header& header() const {
    return *std::launder(reinterpret_cast<shared::Header*>(start_));
  }
  [[nodiscard]] Layout layout() const { return {header().world_size, header().bytes_per_rank}; }

 private:
  [[noreturn]] void fail(int error_number) const {
    close(descriptor_);
    throw refused(bytes_, error_number);
  }

  int descriptor_;
  Bytes bytes_;
  Bytes reserved_ = 0;
  void* base_ = nullptr;
  std::byte* start_ = nullptr;
};

SharedRegion::SharedRegion(std::shared_ptr<const Mapping> mapping) : mapping_(std::move(mapping)) {}

SharedRegion SharedRegion::create(Size world_size, Bytes bytes_per_rank, int cores,
                                  int threads_per_rank, std::chrono::milliseconds longest_nap) {
  ensure(world_size >= 1, "a group has at least one rank");
  ensure(threads_per_rank >= 1, "a rank has at least one thread");
  ensure(longest_nap.count() > 0, "a rank that waits may sleep");
  if (bytes_per_rank > kMostBytes / 4 / static_cast<Bytes>(world_size))
    throw usage_error(
        fmt::format("{} ranks cannot share {} each", world_size, format_bytes(bytes_per_rank)),
        "use fewer ranks, or a smaller model or size");
  const Layout layout(world_size, bytes_per_rank);
  const int descriptor = memfd_create("ptbench-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) throw refused(layout.total, errno);
  if (ftruncate(descriptor, static_cast<off_t>(layout.total)) != 0) {
    const int error_number = errno;
    close(descriptor);
    throw refused(layout.total, error_number);
  }
  // Nobody can take pages away from under the others.
  (void)fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);  // NOLINT(*-vararg)
  SharedRegion region(std::make_shared<const Mapping>(descriptor, layout.total));
  auto* header = new (region.mapping_->start()) shared::Header{};
  for (Size rank = 0; rank < world_size; ++rank)
    new (region.at(layout.blocks + static_cast<Bytes>(rank) * sizeof(shared::RankBlock)))
        shared::RankBlock{};
  for (Size rank = 0; rank < world_size; ++rank)
    new (region.at(layout.phases + static_cast<Bytes>(rank) * sizeof(PhaseBoard::Slot)))
        PhaseBoard::Slot{};
  header->abi = shared::kSharedAbi;
  header->is_crowded = world_size * threads_per_rank > (cores > 0 ? cores : usable_cores());
  header->world_size = world_size;
  header->bytes_per_rank = bytes_per_rank;
  header->longest_nap = longest_nap;
  // Rings and mailboxes are zeros already, and cost no memory before somebody uses them.
  header->magic = shared::kMagic;
  return region;
}

SharedRegion SharedRegion::open(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0)
    throw not_a_region(descriptor, std::generic_category().message(errno));
  const auto bytes = static_cast<Bytes>(status.st_size);
  if (!S_ISREG(status.st_mode) || bytes < kHugePage) throw not_a_region(descriptor, "too small");
  (void)fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // NOLINT(*-vararg)
  SharedRegion region(std::make_shared<const Mapping>(descriptor, bytes));
  const shared::Header& header = region.header();
  if (header.magic != shared::kMagic) throw not_a_region(descriptor, "it holds something else");
  if (header.abi != shared::kSharedAbi || region.mapping_->layout().total != bytes)
    throw not_a_region(descriptor, "it was made by another version");
  return region;
}

int SharedRegion::descriptor() const { return mapping_->descriptor(); }

shared::Header& SharedRegion::header() const { return mapping_->header(); }

shared::RankBlock& SharedRegion::rank_block(Size rank) const {
  const Bytes offset =
      mapping_->layout().blocks + static_cast<Bytes>(rank) * sizeof(shared::RankBlock);
  return *std::launder(reinterpret_cast<shared::RankBlock*>(at(offset)));
}

shared::OperationRing& SharedRegion::ring(std::size_t channel, Size rank) const {
  return *std::launder(
      reinterpret_cast<shared::OperationRing*>(at(mapping_->layout().ring(channel, rank))));
}

shared::Slot* SharedRegion::slots(std::size_t channel, Size rank) const {
  std::byte* first = at(mapping_->layout().ring(channel, rank)) + sizeof(shared::OperationRing);
  return std::launder(reinterpret_cast<shared::Slot*>(first));
}

shared::Mailbox& SharedRegion::mailbox(std::size_t channel, Size sender, Size receiver) const {
  const Layout layout = mapping_->layout();
  const Bytes before = (channel * layout.ranks + static_cast<Bytes>(sender)) * layout.ranks +
                       static_cast<Bytes>(receiver);
  std::byte* place = at(layout.mailboxes + before * sizeof(shared::Mailbox));
  return *std::launder(reinterpret_cast<shared::Mailbox*>(place));
}

std::span<PhaseBoard::Slot> SharedRegion::phases() const {
  auto* slots = reinterpret_cast<PhaseBoard::Slot*>(at(mapping_->layout().phases));
  return {std::launder(slots), static_cast<std::size_t>(world_size())};
}

bool SharedRegion::is_resting() const {
  return PhaseBoard(phases()).phase(0) == RankPhase::resting;
}

std::span<std::byte> SharedRegion::arena(Size rank) const {
  const Layout layout = mapping_->layout();
  return {at(layout.areas + 2 * static_cast<Bytes>(rank) * layout.area), layout.area};
}

std::span<std::byte> SharedRegion::staging(Size rank, std::size_t channel) const {
  const Layout layout = mapping_->layout();
  if (channel == shared::kDataChannel)
    return {arena(rank).data() + layout.area, static_cast<std::size_t>(layout.area)};
  const Bytes before = static_cast<Bytes>(rank) * (shared::kChannels - 1) + channel - 1;
  return {at(layout.small_areas + before * layout.small_area),
          static_cast<std::size_t>(layout.small_area)};
}

std::byte* SharedRegion::at(std::uint64_t offset) const { return mapping_->start() + offset; }

std::uint64_t SharedRegion::offset_of(const void* address) const {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - mapping_->start());
}

void SharedRegion::give_up(Size rank, std::string_view reason) const noexcept {
  shared::Surrender& surrender = header().surrender;
  std::uint32_t expected = shared::Surrender::nobody;
  if (!surrender.state.compare_exchange_strong(expected, shared::Surrender::writing)) return;
  surrender.rank = static_cast<std::int32_t>(rank);
  const std::size_t size = std::min(reason.size(), surrender.reason.size() - 1);
  std::copy_n(reason.begin(), size, surrender.reason.begin());
  surrender.reason.at(size) = '\0';
  surrender.state.store(shared::Surrender::told, std::memory_order_seq_cst);
  for (Size each = 0; each < world_size(); ++each) shared::ring_bell(rank_block(each));
}

std::optional<GivenUp> SharedRegion::given_up() const {
  const shared::Surrender& surrender = header().surrender;
  if (surrender.state.load(std::memory_order_seq_cst) != shared::Surrender::told)
    return std::nullopt;
  const auto end = std::ranges::find(surrender.reason, '\0');
  return GivenUp{.rank = surrender.rank,
                 .reason = printable(std::string(surrender.reason.begin(), end))};
}

InheritedRegion::InheritedRegion(const SharedRegion& region) : descriptor_(region.descriptor()) {
  (void)fcntl(descriptor_, F_SETFD, 0);  // NOLINT(*-vararg)
}

InheritedRegion::~InheritedRegion() {
  (void)fcntl(descriptor_, F_SETFD, FD_CLOEXEC);  // NOLINT(*-vararg)
}

}  // namespace ptbench
