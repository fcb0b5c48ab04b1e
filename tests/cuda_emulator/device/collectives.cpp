// What lanes of a warp do together: each waits until all of the mask have come.
#include <algorithm>

#include "tests/cuda_emulator/device/grid.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

struct Source {
  U32 lane;
  bool in_range;
};

/// Where a lane's value comes from: PTX's pseudocode of shfl.sync. `clamp` holds the last lane, and
/// from bit 8 on the mask that cuts the warp into segments.
Source source_of(Collective kind, U32 lane, U32 choice_register, U32 clamp) {
  const U32 choice = choice_register & 31U;
  const U32 bound = clamp & 31U;
  const U32 segment = clamp >> 8U & 31U;
  const U32 low = lane & segment;
  const U32 last = low | (bound & ~segment);
  U32 source = lane;
  bool in_range = true;
  switch (kind) {
    case Collective::shuffle_up:
      source = lane - choice;
      in_range = static_cast<S32>(source) >= static_cast<S32>(last);
      break;
    case Collective::shuffle_down:
      source = lane + choice;
      in_range = source <= last;
      break;
    case Collective::shuffle_xor:
      source = lane ^ choice;
      in_range = source <= last;
      break;
    case Collective::shuffle_index:
      source = low | (choice & ~segment);
      in_range = source <= last;
      break;
    case Collective::sync:
    case Collective::gather: break;
  }
  return {in_range ? source : lane, in_range};
}

bool is_shuffle(Collective kind) { return kind != Collective::sync && kind != Collective::gather; }

std::string mask_text(U32 mask) {
  std::ostringstream out;
  out << "0x" << std::hex << mask;
  return out.str();
}

}  // namespace

GridRunner::Meeting& GridRunner::meeting_for(Thread& thread, const Call& call) {
  auto& meetings = meetings_[thread.warp];
  auto found = std::ranges::find_if(meetings, [&](const Meeting& meeting) {
    return meeting.arrived != 0 && meeting.mask == call.mask;
  });
  if (found == meetings.end()) {
    found = std::ranges::find(meetings, U32{0}, &Meeting::arrived);
    if (found == meetings.end())
      report(text(place_of(thread, call.file, call.line),
                  ": more than 4 collectives of one warp are under way"));
    found->mask = call.mask;
    found->kind = call.kind;
  }
  if (found->kind != call.kind || (found->arrived >> thread.lane & 1U) != 0)
    report(text("warp collective: ", place_of(thread, call.file, call.line), ": lanes of the mask ",
                mask_text(call.mask), " are in different collectives"));
  return *found;
}

U32 GridRunner::exchange(Thread& thread, const Call& call, bool* in_range, U32* all) {
  const U32 first = thread.warp * kWarp;
  const U32 count = std::min(kWarp, block_.threads - first);
  const U32 lanes = call.mask & (count == kWarp ? ~U32{0} : (U32{1} << count) - 1);
  if ((call.mask >> thread.lane & 1U) == 0)
    report(text("warp collective: ", place_of(thread, call.file, call.line), ": lane ", thread.lane,
                " is not in its own mask ", mask_text(call.mask)));
  for (U32 lane = 0; lane < count; ++lane)
    if ((lanes >> lane & 1U) != 0 && slots_[first + lane].state == State::ended)
      report(text("warp collective: ", place_of(thread, call.file, call.line), ": the mask ",
                  mask_text(call.mask), " names lane ", lane, ", which has ended"));
  Meeting& meeting = meeting_for(thread, call);
  meeting.arrived |= U32{1} << thread.lane;
  meeting.value[thread.lane] = call.value;
  meeting.choice[thread.lane] = call.choice;
  meeting.clamp[thread.lane] = call.clamp;
  // Whoever concludes writes where the others look: their stacks wait.
  if (all != nullptr) slots_[thread.number].gathered = all;
  if ((meeting.arrived & lanes) == lanes)
    conclude(thread, meeting, lanes, call);
  else
    wait(thread, State::at_collective);
  if (in_range != nullptr) *in_range = slots_[thread.number].in_range;
  return slots_[thread.number].result;
}

void GridRunner::conclude(Thread& last, Meeting& meeting, U32 lanes, const Call& call) {
  const U32 first = last.warp * kWarp;
  for (U32 lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const Source source = source_of(call.kind, lane, meeting.choice[lane], meeting.clamp[lane]);
    if (is_shuffle(call.kind) && source.in_range && (lanes >> source.lane & 1U) == 0)
      report(text("warp collective: ", place_of(threads_[first + lane], call.file, call.line),
                  ": lane ", lane, " takes the value of lane ", source.lane,
                  ", which is not in the mask ", mask_text(call.mask)));
    Slot& slot = slots_[first + lane];
    slot.result = meeting.value[source.lane];
    slot.in_range = source.in_range;
    if (call.kind == Collective::gather) std::ranges::copy(meeting.value, slot.gathered);
    ++threads_[first + lane].warp_epoch;
    if (slot.state == State::at_collective) make_ready(first + lane);
  }
  meeting.arrived = 0;
}

}  // namespace ptbench::emulator
