#include "tests/cuda_emulator/device/exports.h"

#include "tests/cuda_emulator/device/machine.h"
#include "tests/cuda_emulator/device/observation.h"
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/ptx/kernel.h"

using ptbench::emulator::machine;

void ptbench_emulator_touch(const char* what, const void* at, std::size_t bytes, bool writes) {
  machine().touch(what, at, bytes, writes);
}
void ptbench_emulator_open_memory() { machine().memory().open(); }
void ptbench_emulator_report(const char* what) { ptbench::emulator::report(what); }
void ptbench_emulator_observe(const ptbench_emulator_observer* observer) {
  const std::lock_guard lock(machine().mutex());
  ptbench::emulator::observation().observe(observer);
}
void ptbench_emulator_remark(const char* what) { ptbench::emulator::remark(what); }

namespace ptbench::emulator {
extern "C" {

void ptbench_emulator_barrier(Thread* thread, U32 id, U32 count, bool waits) {
  machine().grid().barrier(*thread, id, count, waits);
}
U32 ptbench_emulator_barrier_count(Thread* thread, U32 id, U32 count, bool value, U32* threads) {
  return machine().grid().barrier_count(*thread, id, count, value, threads);
}
U32 ptbench_emulator_exchange(Thread* thread, Collective kind, U32 value, U32 choice, U32 clamp,
                              U32 mask, bool* in_range, U32* all, const char* file, int line) {
  return machine().grid().exchange(*thread, {kind, value, choice, clamp, mask, file, line},
                                   in_range, all);
}
void ptbench_emulator_yield(Thread* thread) { machine().grid().yield(*thread); }
void ptbench_emulator_access(Thread* thread, const void* address, U32 bytes, Access kind,
                             const char* file, int line) {
  machine().access(*thread, address, bytes, kind, file, line);
}
void ptbench_emulator_trap(Thread* thread, const char* file, int line) {
  report(text("trap: ", machine().grid().place_of(*thread, file, line)));
}
void ptbench_emulator_assert(Thread* thread, const char* condition, const char* file, U32 line) {
  report(text("assertion: ", machine().grid().place_of(*thread, file, static_cast<int>(line)), ": ",
              condition));
}
}
}  // namespace ptbench::emulator
