#pragma once

#include <cstddef>
#include <functional>

// What the shadows of other libraries (cuBLASLt) use of the emulated device, which lives in
// libcudart's shadow.

extern "C" {

/// Gives a stream something to do. An error of the CUDA runtime where there is no such stream or it
/// belongs to another device than the current one.
int ptbench_emulator_enqueue(void* stream, const char* what, const std::function<void()>& work);

/// Called by such work: what it reads or writes of device memory. Reports ranges that lie in no
/// allocation, were never written, or race.
void ptbench_emulator_touch(const char* what, const void* at, std::size_t bytes, bool writes);

/// What explains an error code that is about to be returned.
void ptbench_emulator_remark(const char* what);
}
