#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

// What the shadows of other libraries (cuBLASLt) use of the emulated device, which lives in
// libcudart's shadow.

// NOLINTBEGIN(readability-identifier-naming): as the functions that they cross
/// What an operation is to those who observe the device.
struct ptbench_emulator_work {
  enum Kind { nothing, kernel, copy, fill };
  enum Memory { pageable, page_locked, of_device };
  Kind kind = nothing;
  std::string name = {};  ///< of a kernel, as the compiler mangles it
  std::size_t bytes = 0;  ///< of a copy or fill
  Memory from = of_device;
  Memory to = of_device;
  int from_device = 0;  ///< where `from` is `of_device`, whose it is; and so of `to`
  int to_device = 0;
  int device = 0;
};

/// A call of the runtime or, by other libraries, of the driver. Times are of the observer's clock.
struct ptbench_emulator_call {
  const char* name;
  bool of_driver;
  std::uint32_t correlation;
  std::uint64_t begin;
  std::uint64_t end;
};

struct ptbench_emulator_observer {
  std::uint64_t (*now)();
  void (*call)(const ptbench_emulator_call& call);
  void (*work)(const ptbench_emulator_work& work, std::uint32_t stream, std::uint32_t correlation,
               std::uint64_t begin, std::uint64_t end);
};
// NOLINTEND(readability-identifier-naming)

extern "C" {

/// From now on calls and what they give to devices are told, until it is called with null.
void ptbench_emulator_observe(const ptbench_emulator_observer* observer);

/// Gives a stream something to do. An error of the CUDA runtime where there is no such stream or it
/// belongs to another device than the current one.
int ptbench_emulator_enqueue(void* stream, const char* what, const std::function<void()>& work);

/// The same on a stream of `device`, whichever the current one is, of something that other ranks
/// take part in: `make_attempt` is called each time that it is asked for, by the stream or by a
/// graph's launch, and what it returns as often as it takes until that says that it is over.
int ptbench_emulator_enqueue_attempt(void* stream, int device, const char* what,
                                     const std::function<std::function<bool()>()>& make_attempt);

/// Does one of the operations that may be done.
void ptbench_emulator_advance();

/// For calls that no capture allows to its threads: an error of the CUDA runtime, or 0.
int ptbench_emulator_refuse_in_capture(const char* call);

/// Called by such work: what it reads or writes of device memory. Reports ranges that lie in no
/// allocation, were never written, or race.
void ptbench_emulator_touch(const char* what, const void* at, std::size_t bytes, bool writes);

/// Called by an attempt before it reads or writes device memory, which is closed until then: others
/// may be asked long before they are there.
void ptbench_emulator_open_memory();

/// Ends the process: a fault was found.
[[noreturn]] void ptbench_emulator_report(const char* what);

/// What explains an error code that is about to be returned.
void ptbench_emulator_remark(const char* what);
}
