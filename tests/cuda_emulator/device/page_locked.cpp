#include "tests/cuda_emulator/device/page_locked.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

std::size_t with_whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

bool overlaps(const AllocationTable& table, const U8* at, std::size_t bytes) {
  const Allocation* last = table.below(at + bytes - 1);
  return last != nullptr && last->at + last->bytes > at;
}

}  // namespace

void* PageLockedMemory::allocate(std::size_t bytes) {
  void* at = mmap(nullptr, with_whole_pages(bytes), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  std::memset(at, 0xff, bytes);
  allocated_.add({static_cast<U8*>(at), bytes, ++last_number_, 0});
  return at;
}

bool PageLockedMemory::release(void* at) {
  const Allocation* found = allocated_.starting_at(at);
  if (found == nullptr) return false;
  munmap(at, with_whole_pages(found->bytes));
  return allocated_.remove(at);
}

bool PageLockedMemory::add(void* at, std::size_t bytes) {
  auto* begin = static_cast<U8*>(at);
  if (overlaps(allocated_, begin, bytes) || overlaps(registered_, begin, bytes)) return false;
  registered_.add({begin, bytes, ++last_number_, 0});
  return true;
}

bool PageLockedMemory::remove(void* at) { return registered_.remove(at); }

bool PageLockedMemory::holds(const void* at, std::size_t bytes) const {
  for (const AllocationTable* table : {&allocated_, &registered_})
    if (const Allocation* found = table->find(at))
      return static_cast<const U8*>(at) + bytes <= found->at + found->bytes;
  return false;
}

std::string PageLockedMemory::describe(const void* at) const {
  for (const AllocationTable* table : {&allocated_, &registered_})
    if (const Allocation* found = table->find(at))
      return text("byte ", static_cast<const U8*>(at) - found->at, " of page-locked allocation ",
                  found->number, " (", found->bytes, " bytes)");
  return text("host address ", at);
}

PageLockedSource::PageLockedSource(const void* at, std::size_t bytes)
    : at_(static_cast<const U8*>(at)), seen_(at_, at_ + bytes) {}

bool PageLockedSource::is_unchanged() const {
  return std::memcmp(at_, seen_.data(), seen_.size()) == 0;
}

}  // namespace ptbench::emulator
