#pragma once

#include <cstddef>
#include <functional>

// What the shadows of other libraries (cuBLASLt) use of the emulated device, which lives in
// libcudart's shadow.

extern "C" {

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

/// Ends the process: a fault was found.
[[noreturn]] void ptbench_emulator_report(const char* what);

/// What explains an error code that is about to be returned.
void ptbench_emulator_remark(const char* what);
}
