#pragma once

#include "tests/cuda_emulator/ptx/types.h"

// What translated kernels and the emulated device say to each other. A library of kernels exports
// the table `ptbench_emulator_kernels`; the device is libcudart's shadow.

namespace ptbench::emulator {

struct Dim {
  U32 x, y, z;
};

struct Block {
  Dim size;    ///< %ntid
  Dim index;   ///< %ctaid
  Dim grid;    ///< %nctaid
  U8* shared;  ///< where shared memory begins; addresses in it are offsets
  U32 dynamic_shared;
  U32 threads;
  U32 number;  ///< from 1, different for all blocks of all launches
};

struct Thread {
  Dim index;  ///< %tid
  U32 lane;
  U32 warp;
  U32 number;  ///< in the block
  Block* block;
  U32 block_epoch;  ///< barriers of the block that it has passed
  U32 warp_epoch;   ///< collectives of the warp that it has passed
  bool fenced;      ///< has passed a fence since it last wrote
};

struct Range {
  U32 offset, bytes;
};

struct Kernel {
  const char* name;
  void (*run)(const U8* parameters, Thread* thread);
  const Range* parameters;
  U32 parameter_count;
  U32 parameter_bytes;
  const Range* shared;  ///< static variables
  U32 shared_count;
  U32 static_shared;    ///< where dynamic shared memory begins
  U32 declared_shared;  ///< bytes of the static variables, as the module asked for them
  U32 max_threads;      ///< of __launch_bounds__; 0: none
  U32 registers;        ///< 32-bit registers that the PTX names, at least those that live at once
};

/// A variable of the device (`__device__`, `__constant__`).
struct Variable {
  const char* name;
  void* address;
  U64 bytes;
  bool constant;
};

struct KernelLibrary {
  const Kernel* kernels;
  U32 kernel_count;
  const Variable* variables;
  U32 variable_count;
  bool checks;  ///< every access is told
};

/// The strong ones are part of protocols between threads (.volatile, .relaxed, …); an update reads
/// and writes at once.
enum class Access : U8 { read, write, strong_read, strong_write, update, misaligned };

enum class Collective : U8 { sync, shuffle_up, shuffle_down, shuffle_xor, shuffle_index, gather };

extern "C" {
/// bar.sync and its like: `count` 0 means the whole block. Without `waits` the thread only arrives.
void ptbench_emulator_barrier(Thread* thread, U32 id, U32 count, bool waits);
/// bar.red: how many threads brought a true value.
U32 ptbench_emulator_barrier_count(Thread* thread, U32 id, U32 count, bool value, U32* threads);
/// Meets the lanes of `mask` and returns the value that the lane chosen by `kind`, `choice` and
/// `clamp` brought; `in_range` (may be null) as shfl's predicate. For `gather`, `all` (32 values)
/// receives what every lane of the mask brought.
U32 ptbench_emulator_exchange(Thread* thread, Collective kind, U32 value, U32 choice, U32 clamp,
                              U32 mask, bool* in_range, U32* all, const char* file, int line);
/// Lets other threads go first: somebody may be waiting for them in a loop.
void ptbench_emulator_yield(Thread* thread);
/// Every access of a checked kernel, and misaligned ones of all.
void ptbench_emulator_access(Thread* thread, const void* address, U32 bytes, Access kind,
                             const char* file, int line);
[[noreturn]] void ptbench_emulator_trap(Thread* thread, const char* file, int line);
[[noreturn]] void ptbench_emulator_assert(Thread* thread, const char* condition, const char* file,
                                          U32 line);
}

}  // namespace ptbench::emulator
