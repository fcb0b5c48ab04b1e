// Barriers of a block.
#include <algorithm>

#include "tests/cuda_emulator/device/grid.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {

void GridRunner::barrier(Thread& thread, U32 id, U32 count, bool waits) {
  if (id >= kBarriers || count % kWarp != 0)
    report(text("kernel ", readable_name(kernel_->name), ": barrier ", id, " of ", count,
                " threads: there are ", kBarriers, ", of whole warps"));
  Barrier& at = barriers_[id];
  at.needed = count;
  ++at.arrived;
  if (!waits) {
    complete_if_full(id);
    return;
  }
  ++at_barriers_;
  slots_[thread.number].barrier = id;
  slots_[thread.number].state = State::at_barrier;
  complete_if_full(id);
  slots_[thread.number].fiber = current_;
  current_->switch_to(main_);
}

U32 GridRunner::barrier_count(Thread& thread, U32 id, U32 count, bool value, U32* threads) {
  if (id < kBarriers) barriers_[id].values += value ? 1 : 0;
  barrier(thread, id, count, true);
  *threads = slots_[thread.number].barrier_threads;
  return slots_[thread.number].barrier_value;
}

void GridRunner::complete_if_full(U32 id) {
  const Barrier& at = barriers_[id];
  const U32 needed = at.needed != 0 ? at.needed : live_;
  if (at.arrived != 0 && at.arrived >= needed) complete(id);
}

void GridRunner::complete(U32 id) {
  const Barrier done = barriers_[id];
  barriers_[id] = {};
  for (U32 index = 0; index < block_.threads; ++index) {
    const U32 number = sequence_[index];
    Slot& slot = slots_[number];
    if (slot.state != State::at_barrier || slot.barrier != id) continue;
    slot.barrier_value = done.values;
    slot.barrier_threads = done.arrived;
    ++threads_[number].block_epoch;
    --at_barriers_;
    make_ready(number);
  }
}

}  // namespace ptbench::emulator
