#include "tests/cuda_emulator/device/fiber.h"

#include <sys/mman.h>

#include "tests/cuda_emulator/device/address_sanitizer.h"
#include "tests/cuda_emulator/device/report.h"

extern "C" void ptbench_emulator_switch(void** from, void* to);

// What the System V ABI has callees keep goes onto the old stack, and comes from the new one.
asm(R"(
.text
.globl ptbench_emulator_switch
.hidden ptbench_emulator_switch
.type ptbench_emulator_switch, @function
ptbench_emulator_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size ptbench_emulator_switch, .-ptbench_emulator_switch
)");

namespace ptbench::emulator {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr int kSavedRegisters = 6;

}  // namespace

Fiber::Fiber(void (*body)()) {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) report("no memory for the stack of a thread");
  stack_ = static_cast<U8*>(memory);
  mprotect(stack_, kGuardBytes, PROT_NONE);
  // The switch returns to `body`, with the stack aligned as at a call.
  void** top = reinterpret_cast<void**>(stack_ + kStackBytes) - 2;
  *top = reinterpret_cast<void*>(body);
  stack_pointer_ = top - kSavedRegisters;
}

Fiber::~Fiber() {
  if (stack_ != nullptr) munmap(stack_, kStackBytes);
}

void Fiber::switch_to(Fiber& to) {
  if (has_address_sanitizer())
    __sanitizer_start_switch_fiber(&sanitizer_, to.stack_, to.stack_ != nullptr ? kStackBytes : 0);
  ptbench_emulator_switch(&stack_pointer_, to.stack_pointer_);
  if (has_address_sanitizer()) __sanitizer_finish_switch_fiber(sanitizer_, nullptr, nullptr);
}

void Fiber::arrived() {
  if (has_address_sanitizer()) __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
}

}  // namespace ptbench::emulator
