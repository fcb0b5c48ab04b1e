// The checks of single accesses.
#include "tests/cuda_emulator/device/machine.h"
#include "tests/cuda_emulator/device/report.h"

namespace ptbench::emulator {
namespace {

const char* verb_of(Access kind) {
  switch (kind) {
    case Access::read: return "reads";
    case Access::write: return "writes";
    case Access::strong_read: return "reads (volatile or relaxed)";
    case Access::strong_write: return "writes (volatile or relaxed)";
    case Access::update: return "updates (atomic)";
    case Access::misaligned: return "touches";
  }
  return "touches";
}

/// "race: " and what is wrong, with the place after the first word.
std::string placed(const std::string& wrong, const std::string& place) {
  const std::size_t kind = wrong.find(": ") + 2;
  return text(wrong.substr(0, kind), place, ": ", wrong.substr(kind));
}

/// Whether the range lies in one static variable or in the dynamic part.
bool is_in_shared_variable(const Kernel& kernel, U32 dynamic_shared, U64 offset, U32 bytes) {
  if (offset >= kernel.static_shared && offset + bytes <= kernel.static_shared + dynamic_shared)
    return true;
  for (U32 index = 0; index < kernel.shared_count; ++index) {
    const Range& variable = kernel.shared[index];
    if (offset >= variable.offset && offset + bytes <= variable.offset + variable.bytes)
      return true;
  }
  return false;
}

}  // namespace

/// Why an access to what is no shared memory is forbidden; empty where it is not.
std::string Machine::outside(const U8* at, U32 bytes, Access kind) {
  if (memory_.spans(at)) {
    const Allocation* allocation = memory_.table().find(at);
    if (allocation == nullptr || at + bytes > allocation->at + allocation->bytes)
      return text(verb_of(kind), " ", bytes, " bytes at ", memory_.describe(at));
    if (allocation->device != running_device_ &&
        !peers_.contains({running_device_, allocation->device}))
      return text(verb_of(kind), " ", memory_.describe(at), " from device ", running_device_,
                  " without cudaDeviceEnablePeerAccess");
    return {};
  }
  if (const Variable* variable = kernels_.variable_at(at)) {
    const auto* begin = static_cast<const U8*>(variable->address);
    if (at + bytes > begin + variable->bytes)
      return text(verb_of(kind), " ", bytes, " bytes, more than variable ", variable->name, " has");
    if (variable->constant && kind != Access::read && kind != Access::strong_read)
      return text(verb_of(kind), " constant variable ", variable->name);
    return {};
  }
  if (page_locked_.holds(at, bytes)) return {};
  return text(verb_of(kind), " ", bytes, " bytes at ", static_cast<const void*>(at),
              ", which is no memory of the device");
}

void Machine::access(Thread& thread, const void* address, U32 bytes, Access kind, const char* file,
                     int line) {
  const auto* at = static_cast<const U8*>(address);
  if (kind == Access::misaligned)
    report(text("misaligned: ", grid_.place_of(thread, file, line), ": touches ", bytes,
                " bytes at ", address, ", which is no multiple"));
  const bool in_shared = at >= grid_.shared_window() && at < grid_.shared_window() + kSharedBytes;
  const auto offset = static_cast<U64>(at - grid_.shared_window());
  if (in_shared) {
    if (!is_in_shared_variable(grid_.kernel(), grid_.block().dynamic_shared, offset, bytes))
      report(text("out of bounds: ", grid_.place_of(thread, file, line), ": ", verb_of(kind), " ",
                  bytes, " bytes of shared memory at ", offset, ", outside of every variable"));
  } else if (!memory_.spans(at) && grid_.is_own_memory(at)) {
    return;
  } else if (const std::string wrong = outside(at, bytes, kind); !wrong.empty()) {
    report(text("out of bounds: ", grid_.place_of(thread, file, line), ": ", wrong));
  }
  if (marks_) remember(thread, at, bytes, kind, file, line);
}

void Machine::remember(Thread& thread, const U8* at, U32 bytes, Access kind, const char* file,
                       int line) {
  const bool in_shared = at >= grid_.shared_window() && at < grid_.shared_window() + kSharedBytes;
  const auto offset = static_cast<U32>(at - grid_.shared_window());
  const bool is_atomic = kind != Access::read && kind != Access::write;
  const Toucher who{.operation = scheduler_.running()->number,
                    .block = thread.block->number,
                    .thread = static_cast<U16>(thread.number),
                    .block_epoch = static_cast<U16>(thread.block_epoch),
                    .warp_epoch = static_cast<U16>(thread.warp_epoch),
                    .is_atomic = is_atomic};
  const auto touch = [&](bool writes) {
    return in_shared ? marks_->touch_shared(offset, bytes, writes, who)
                     : marks_->touch(at, bytes, writes, who);
  };
  std::string wrong;
  if (kind != Access::write && kind != Access::strong_write) wrong = touch(false);
  if (wrong.empty() && kind != Access::read && kind != Access::strong_read) wrong = touch(true);
  if (!wrong.empty())
    report(
        placed(wrong, text(grid_.place_of(thread, file, line), ": ", verb_of(kind), " ",
                           in_shared ? text("shared memory at ", offset) : memory_.describe(at))));
  if (is_atomic && !in_shared) marks_->change_atomic(at, who, thread.fenced);
}

void Machine::touch(const char* what, const void* at, std::size_t bytes, bool writes) {
  if (bytes == 0) return;
  const auto* byte = static_cast<const U8*>(at);
  const Allocation* allocation = memory_.table().find(at);
  const char* verb = writes ? "writes" : "reads";
  if (allocation == nullptr || byte + bytes > allocation->at + allocation->bytes) {
    const Variable* variable = kernels_.variable_at(at);
    if (variable == nullptr ||
        byte + bytes > static_cast<const U8*>(variable->address) + variable->bytes)
      report(text("out of bounds: ", what, ": ", verb, " ", bytes, " bytes from ",
                  memory_.describe(at)));
  }
  if (!marks_) return;
  const std::string wrong =
      marks_->touch(at, bytes, writes, {.operation = scheduler_.running()->number});
  if (!wrong.empty())
    report(placed(wrong, text(what, " (", scheduler_.running()->what, "): ", verb, " ",
                              memory_.describe(at))));
}

}  // namespace ptbench::emulator
