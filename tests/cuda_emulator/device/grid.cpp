#include "tests/cuda_emulator/device/grid.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda_emulator/device/address_sanitizer.h"
#include "tests/cuda_emulator/device/machine.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

/// Offsets into shared memory are 32 bits: what lies beyond the window faults.
constexpr std::size_t kReservedShared = std::size_t{1} << 32U;

}  // namespace

GridRunner::GridRunner(Order order) : order_(order) {
  void* window =
      mmap(nullptr, kReservedShared, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (window == MAP_FAILED) report("cannot reserve addresses for shared memory");
  shared_ = static_cast<U8*>(window);
  mprotect(shared_, kSharedBytes, PROT_READ | PROT_WRITE);
}

void GridRunner::run(const Kernel& kernel, Dim grid, Dim block, const U8* parameters,
                     U32 dynamic_shared) {
  kernel_ = &kernel;
  parameters_ = parameters;
  block_ = {.size = block,
            .index = {},
            .grid = grid,
            .shared = shared_,
            .dynamic_shared = dynamic_shared,
            .threads = block.x * block.y * block.z,
            .number = 0};
  for (U32 number = 0; number < block_.threads; ++number) {
    threads_[number].index = {number % block.x, number / block.x % block.y,
                              number / block.x / block.y};
    sequence_[number] = order_ == Order::descending ? block_.threads - 1 - number : number;
  }
  if (has_address_sanitizer()) {
    __asan_poison_memory_region(shared_, kSharedBytes);
    for (U32 index = 0; index < kernel.shared_count; ++index)
      __asan_unpoison_memory_region(shared_ + kernel.shared[index].offset,
                                    kernel.shared[index].bytes);
    __asan_unpoison_memory_region(shared_ + kernel.static_shared, dynamic_shared);
  }
  const U64 blocks = U64{grid.x} * grid.y * grid.z;
  const U64 most = settings().last_blocks == 0 ? blocks : settings().last_blocks;
  const U64 first = blocks > most ? blocks - most : 0;
  for (U64 index = first; index < blocks; ++index) {
    const U64 at = order_ == Order::descending ? blocks - 1 - (index - first) : index;
    begin_block({static_cast<U32>(at % grid.x), static_cast<U32>(at / grid.x % grid.y),
                 static_cast<U32>(at / grid.x / grid.y)});
    run_block();
  }
}

void GridRunner::begin_block(Dim index) {
  block_.index = index;
  block_.number = ++blocks_run_;
  for (U32 number = 0; number < block_.threads; ++number) {
    Thread& thread = threads_[number];
    thread.lane = number % kWarp;
    thread.warp = number / kWarp;
    thread.number = number;
    thread.block = &block_;
    thread.block_epoch = thread.warp_epoch = 0;
    thread.fenced = false;
    slots_[number] = {};
  }
  if (order_ == Order::random)
    std::shuffle(sequence_.begin(), sequence_.begin() + block_.threads, random_source());
  barriers_ = {};
  ready_.clear();
  ready_from_ = 0;
  at_barriers_ = started_ = 0;
  live_ = block_.threads;
  clear_shared();
}

/// What the block before left is garbage to this one.
void GridRunner::clear_shared() {
  for (U32 index = 0; index < kernel_->shared_count; ++index)
    std::memset(shared_ + kernel_->shared[index].offset, 0xff, kernel_->shared[index].bytes);
  std::memset(shared_ + kernel_->static_shared, 0xff, block_.dynamic_shared);
}

void GridRunner::run_block() {
  while (live_ != 0) {
    if (ready_from_ < ready_.size()) {
      const U32 number = next_ready();
      slots_[number].state = State::running;
      run_fiber(*slots_[number].fiber);
    } else if (started_ < block_.threads) {
      if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(&GridRunner::fiber_body));
        idle_.push_back(fibers_.back().get());
      }
      Fiber* fiber = idle_.back();
      idle_.pop_back();
      run_fiber(*fiber);
    } else {
      report_hang();
    }
  }
}

void GridRunner::run_fiber(Fiber& fiber) {
  current_ = &fiber;
  main_.switch_to(fiber);
  current_ = &main_;
}

void GridRunner::fiber_body() {
  Fiber::arrived();
  machine().grid().work_on_fiber();
}

/// Starts threads until one waits; that one keeps this fiber, and the others get other fibers.
void GridRunner::work_on_fiber() {
  for (;;) {
    while (started_ < block_.threads) {
      const U32 number = sequence_[started_++];
      slots_[number].state = State::running;
      Fiber* const fiber = current_;
      slots_[number].fiber = fiber;
      kernel_->run(parameters_, &threads_[number]);
      ended(number);
    }
    Fiber* const fiber = current_;
    idle_.push_back(fiber);
    fiber->switch_to(main_);
  }
}

void GridRunner::wait(Thread& thread, State state) {
  Slot& slot = slots_[thread.number];
  slot.state = state;
  slot.fiber = current_;
  current_->switch_to(main_);
}

void GridRunner::make_ready(U32 number) {
  slots_[number].state = State::ready;
  ready_.push_back(number);
}

U32 GridRunner::next_ready() {
  if (order_ == Order::random)
    std::swap(ready_[ready_from_],
              ready_[ready_from_ + random_source()() % (ready_.size() - ready_from_)]);
  const U32 number = ready_[ready_from_++];
  if (ready_from_ == ready_.size()) {
    ready_.clear();
    ready_from_ = 0;
  }
  return number;
}

void GridRunner::yield(Thread& thread) {
  if (ready_from_ == ready_.size() && started_ == block_.threads) return;
  make_ready(thread.number);
  slots_[thread.number].fiber = current_;
  current_->switch_to(main_);
}

/// Barriers wait for no thread that has ended; collectives that name it wait for ever.
void GridRunner::ended(U32 number) {
  slots_[number].state = State::ended;
  --live_;
  const Thread& thread = threads_[number];
  for (const Meeting& meeting : meetings_[thread.warp])
    if (meeting.arrived != 0 && (meeting.mask >> thread.lane & 1U) != 0)
      report(text("warp collective: kernel ", readable_name(kernel_->name), ": block (",
                  block_.index.x, ", ", block_.index.y, ", ", block_.index.z, "): lane ",
                  thread.lane, " of warp ", thread.warp,
                  " has ended, and lanes wait for it whose mask names it"));
  for (U32 id = 0; at_barriers_ != 0 && id < kBarriers; ++id) complete_if_full(id);
}

bool GridRunner::is_own_memory(const void* address) const {
  return std::ranges::any_of(fibers_, [=](const auto& fiber) { return fiber->holds(address); });
}

std::string GridRunner::place_of(const Thread& thread, const char* file, int line) const {
  const Dim& block = block_.index;
  return text(file_name(file), ":", line, ": kernel ", readable_name(kernel_->name), ": block (",
              block.x, ", ", block.y, ", ", block.z, "), thread (", thread.index.x, ", ",
              thread.index.y, ", ", thread.index.z, ")");
}

void GridRunner::report_hang() const {
  U32 at_barrier = 0;
  U32 at_collective = 0;
  U32 ended = 0;
  for (U32 number = 0; number < block_.threads; ++number) {
    at_barrier += slots_[number].state == State::at_barrier ? 1U : 0U;
    at_collective += slots_[number].state == State::at_collective ? 1U : 0U;
    ended += slots_[number].state == State::ended ? 1U : 0U;
  }
  const Dim& index = block_.index;
  report(text("hang: kernel ", readable_name(kernel_->name), ": block (", index.x, ", ", index.y,
              ", ", index.z, "): of ", block_.threads, " threads ", at_barrier,
              " wait at a barrier of the block, ", at_collective,
              " at a collective of their warp whose mask names lanes that do not come, ", ended,
              " have ended"));
}

}  // namespace ptbench::emulator
