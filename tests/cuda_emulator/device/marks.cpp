#include "tests/cuda_emulator/device/marks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_emulator/device/grid.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr U8 kWholeWord = 15;

/// The bytes of the word at `word` that lie in [begin, end), as a mask.
U8 bytes_in_word(U64 word, U64 begin, U64 end) {
  U8 mask = kWholeWord;
  if (begin > word) mask = static_cast<U8>(mask & (kWholeWord << (begin - word)));
  if (end < word + kWordBytes) mask = static_cast<U8>(mask & ((1U << (end - word)) - 1));
  return mask;
}

}  // namespace

Marks::Marks(const DeviceMemory& memory, const Scheduler& scheduler)
    : memory_(memory), scheduler_(scheduler), shared_words_(kSharedBytes / kWordBytes) {
  const std::size_t bytes = memory.span() / kWordBytes * sizeof(Word);
  void* range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) report("cannot reserve addresses for the checks of device memory");
  device_words_ = static_cast<Word*>(range);
}

void Marks::add_region(int device, const void* at, std::size_t bytes) {
  Word word;
  word.write.flags = kWritten;
  regions_[device][static_cast<const U8*>(at)].assign((bytes + kWordBytes - 1) / kWordBytes, word);
}

void Marks::forget(const void* at, std::size_t bytes) {
  // Allocations begin with a page, and so do their words.
  Word* words = words_of(at);
  madvise(words, bytes / kWordBytes * sizeof(Word), MADV_DONTNEED);
}

Marks::Word* Marks::words_of(const void* at) {
  const auto* byte = static_cast<const U8*>(at);
  if (memory_.spans(at))
    return device_words_ + static_cast<std::size_t>(byte - memory_.base()) / kWordBytes;
  auto& regions = regions_[device_];
  auto region = regions.upper_bound(byte);
  if (region == regions.begin()) return nullptr;
  --region;
  const std::size_t index = static_cast<std::size_t>(byte - region->first) / kWordBytes;
  return index < region->second.size() ? region->second.data() + index : nullptr;
}

bool Marks::was_released_to(const Mark& earlier, const Mark& now) const {
  if (acquiring_block_ != now.block) return false;
  return std::ranges::any_of(acquisitions_, [&](const Acquisition& acquired) {
    if (acquired.thread != now.thread && acquired.block_epoch == now.block_epoch) return false;
    const auto release = acquired.channel->find(earlier.block);
    if (release == acquired.channel->end() || release->second.index >= acquired.releases)
      return false;
    return release->second.thread == earlier.thread ||
           release->second.block_epoch > earlier.block_epoch;
  });
}

const char* Marks::clash_in_block(const Mark& earlier, const Mark& now) const {
  if (earlier.block_epoch != now.block_epoch) return nullptr;
  if ((earlier.flags & kWarps) != 0 || earlier.thread / kWarp != now.thread / kWarp)
    return "another warp of the block, no __syncthreads between";
  if (earlier.warp_epoch != now.warp_epoch) return nullptr;
  if ((earlier.flags & kLanes) != 0 || earlier.thread != now.thread)
    return "another lane of the warp, no __syncwarp between";
  return nullptr;
}

/// Null where the earlier access is ordered before this one, or does not matter.
const char* Marks::clash(const Mark& earlier, const Mark& now, bool in_shared) const {
  if (earlier.operation == 0 || (earlier.bytes & now.bytes) == 0) return nullptr;
  if ((earlier.flags & kAtomic) != 0 && (now.flags & kAtomic) != 0) return nullptr;
  if (in_shared) return earlier.block == now.block ? clash_in_block(earlier, now) : nullptr;
  if (earlier.operation != now.operation)
    return scheduler_.is_before_running(earlier.operation) ? nullptr
                                                           : "no event or other order between";
  if (now.block == 0) return nullptr;
  if ((earlier.flags & kBlocks) == 0 && earlier.block == now.block)
    return clash_in_block(earlier, now);
  if ((earlier.flags & kBlocks) == 0 && was_released_to(earlier, now)) return nullptr;
  return "another block of the same launch";
}

/// Readers that only a barrier above them would end stay together in one mark; those of operations
/// that are not ordered are kept one by one.
void Marks::remember_read(Mark& seen, const Mark& now, bool in_shared) {
  const Mark before = seen;
  seen = now;
  if (before.operation == 0) return;
  if (before.operation != now.operation) {
    if (!in_shared &&
        ((before.flags & kOthers) != 0 || !scheduler_.is_before_running(before.operation))) {
      other_readers_[&seen].push_back(before);
      seen.flags |= kOthers;
    }
    return;
  }
  seen.flags |= before.flags & kOthers;
  if (before.block == 0) return;
  if (before.block != now.block) {
    if (!in_shared) seen.flags |= kBlocks;
    return;
  }
  seen.flags |= before.flags & kBlocks;
  if (before.block_epoch != now.block_epoch) return;
  seen.flags |= before.flags & kWarps;
  if (before.thread / kWarp != now.thread / kWarp) {
    seen.flags |= kWarps;
    return;
  }
  if (before.warp_epoch != now.warp_epoch) return;
  seen.flags |= before.flags & kLanes;
  if (before.thread != now.thread) seen.flags |= kLanes;
}

std::string Marks::race_text(const char* did, const Mark& earlier, const Mark& now,
                             const char* why) const {
  const std::string who = earlier.operation != now.operation ? scheduler_.name_of(earlier.operation)
                                                             : text("thread ", earlier.thread);
  return text("race: ", who, " ", did, " it (", why, ")");
}

std::string Marks::race_with_readers(Word& word, const Mark& now, bool in_shared) {
  if (const char* why = clash(word.read, now, in_shared))
    return race_text("read", word.read, now, why);
  if (in_shared || (word.read.flags & kOthers) == 0) return {};
  for (const Mark& reader : other_readers_[&word.read])
    if (const char* why = clash(reader, now, in_shared)) return race_text("read", reader, now, why);
  // All are ordered before this write, and what comes after it need not know them.
  other_readers_.erase(&word.read);
  word.read.flags &= static_cast<U8>(~kOthers);
  return {};
}

std::string Marks::touch_word(Word& word, Mark now, bool writes, bool in_shared) {
  if (const char* why = clash(word.write, now, in_shared))
    return race_text("wrote", word.write, now, why);
  if (writes)
    if (std::string race = race_with_readers(word, now, in_shared); !race.empty()) return race;
  const bool is_new =
      word.write.operation != now.operation && (writes || word.read.operation != now.operation);
  if (is_new && !in_shared) traffic_.add(now.operation, writes);
  const bool was_here = !in_shared || word.write.block == now.block;
  const U8 written = was_here ? word.write.flags / kWritten : 0;
  const bool from_start = word.write.operation == 0 && word.write.flags == kWritten;
  if (!writes) {
    if (!from_start && (now.bytes & ~written) != 0) return "uninitialised: nobody has written it";
    remember_read(word.read, now, in_shared);
    return {};
  }
  now.flags = static_cast<U8>(now.flags | (written | now.bytes) * kWritten);
  if (from_start) now.flags = static_cast<U8>(now.flags | kWholeWord * kWritten);
  word.write = now;
  return {};
}

template <class WordAt>
std::string Marks::touch_range(U64 begin, std::size_t bytes, bool writes, const Toucher& who,
                               bool in_shared, WordAt word_at) {
  Mark now{.operation = who.operation,
           .block = who.block,
           .thread = who.thread,
           .block_epoch = who.block_epoch,
           .warp_epoch = who.warp_epoch,
           .flags = who.is_atomic ? kAtomic : U8{0}};
  const U64 end = begin + bytes;
  for (U64 at = begin / kWordBytes * kWordBytes; at < end; at += kWordBytes) {
    now.bytes = bytes_in_word(at, begin, end);
    std::string wrong = touch_word(word_at((at - begin / kWordBytes * kWordBytes) / kWordBytes),
                                   now, writes, in_shared);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string Marks::touch(const void* at, std::size_t bytes, bool writes, const Toucher& who) {
  Word* words = words_of(at);
  if (words == nullptr) return {};
  return touch_range(reinterpret_cast<U64>(at), bytes, writes, who, false,
                     [=](U64 index) -> Word& { return words[index]; });
}

std::string Marks::touch_shared(U32 offset, std::size_t bytes, bool writes, const Toucher& who) {
  Word* words = shared_words_.data() + offset / kWordBytes;
  return touch_range(offset, bytes, writes, who, true,
                     [=](U64 index) -> Word& { return words[index]; });
}

void Marks::begin_grid() {
  channels_.clear();
  acquisitions_.clear();
  acquiring_block_ = 0;
}

void Marks::change_atomic(const void* at, const Toucher& who, bool fenced) {
  if (acquiring_block_ != who.block) {
    acquisitions_.clear();
    acquiring_block_ = who.block;
  }
  const auto found = channels_.find(at);
  if (found != channels_.end())
    acquisitions_.push_back({&found->second, found->second.size(), who.thread, who.block_epoch});
  if (!fenced) return;
  Channel& channel = channels_[at];
  channel.insert_or_assign(
      who.block, Release{channel.contains(who.block) ? channel.at(who.block).index : channel.size(),
                         who.thread, who.block_epoch});
}

}  // namespace ptbench::emulator
