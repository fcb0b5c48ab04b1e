#include "tests/cuda_emulator/device/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "tests/cuda_emulator/device/address_sanitizer.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

constexpr std::size_t kPage = 4096;
/// Behind every allocation, at least.
constexpr std::size_t kRedZone = 256;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

const Allocation* AllocationTable::starting_at(const void* at) const {
  const auto found = entries_.find(static_cast<const U8*>(at));
  return found == entries_.end() ? nullptr : &found->second;
}

const Allocation* AllocationTable::below(const void* address) const {
  const auto above = entries_.upper_bound(static_cast<const U8*>(address));
  return above == entries_.begin() ? nullptr : &std::prev(above)->second;
}

const Allocation* AllocationTable::find(const void* address) const {
  const Allocation* candidate = below(address);
  return candidate != nullptr && candidate->holds(address) ? candidate : nullptr;
}

DeviceMemory::DeviceMemory(int devices, std::size_t bytes_each)
    : devices_(static_cast<std::size_t>(devices)), bytes_each_(bytes_each) {
  void* range =
      mmap(nullptr, span(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    report(text("cannot reserve ", span() >> 30U, " GiB of addresses for ", devices, " devices"));
  base_ = static_cast<U8*>(range);
}

U8* DeviceMemory::allocate(int device, std::size_t bytes) {
  const std::size_t pages = whole_pages(bytes + kRedZone);
  std::size_t& next = next_[device];
  if (bytes > free_bytes(device) || next + pages > kSpan) return nullptr;
  U8* at = base_ + static_cast<std::size_t>(device) * kSpan + next;
  next += pages;
  used_[device] += bytes;
  mprotect(at, pages, PROT_READ | PROT_WRITE);
  std::memset(at, 0xff, bytes);  // NaN: whoever reads it unwritten shows
  if (has_address_sanitizer()) {
    __asan_poison_memory_region(at, pages);
    __asan_unpoison_memory_region(at, bytes);
  }
  if (!is_open_) mprotect(at, pages, PROT_NONE);
  live_.add({at, bytes, ++last_number_, device});
  const auto before = runs_.upper_bound(at);
  if (before != runs_.begin() && std::prev(before)->first + std::prev(before)->second == at)
    std::prev(before)->second += pages;
  else
    runs_[at] = pages;
  return at;
}

bool DeviceMemory::release(void* at) {
  const Allocation* found = live_.starting_at(at);
  if (found == nullptr) return false;
  const Allocation allocation = *found;
  const std::size_t pages = whole_pages(allocation.bytes + kRedZone);
  if (has_address_sanitizer()) __asan_poison_memory_region(at, pages);
  // The pages' contents go, the addresses stay nobody's.
  madvise(at, pages, MADV_DONTNEED);
  mprotect(at, pages, PROT_NONE);
  const auto run = std::prev(runs_.upper_bound(allocation.at));
  const auto [begin, length] = *run;
  const auto ahead = static_cast<std::size_t>(allocation.at - begin);
  runs_.erase(run);
  if (ahead != 0) runs_[begin] = ahead;
  if (length > ahead + pages) runs_[allocation.at + pages] = length - ahead - pages;
  used_[allocation.device] -= allocation.bytes;
  freed_.add(allocation);
  live_.remove(at);
  return true;
}

std::size_t DeviceMemory::free_bytes(int device) const {
  const auto used = used_.find(device);
  return bytes_each_ - (used == used_.end() ? 0 : used->second);
}

std::string DeviceMemory::describe(const void* address) const {
  const auto* byte = static_cast<const U8*>(address);
  if (!spans(address)) return text("address ", address, ", which is no device memory");
  const Allocation* owner = live_.below(address);
  const Allocation* former = freed_.find(address);
  const bool is_freed = former != nullptr;
  if (is_freed) owner = former;
  if (owner == nullptr) return text("address ", address, ", where nothing was allocated");
  const auto offset = static_cast<std::size_t>(byte - owner->at);
  const std::string name =
      text(is_freed ? "freed device allocation " : "device allocation ", owner->number, " (",
           owner->bytes, " bytes, device ", owner->device, ")");
  if (offset < owner->bytes) return text("byte ", offset, " of ", name);
  return text(offset - owner->bytes, " bytes behind ", name);
}

void DeviceMemory::protect(bool accessible) {
  if (std::exchange(is_open_, accessible) == accessible) return;
  for (const auto& [at, pages] : runs_)
    mprotect(at, pages, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace ptbench::emulator
