#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace ptbench::emulator {

enum class Order { ascending, descending, random };

/// What the environment asks of the emulated devices; scripts/emulate-gpu sets it.
struct Settings {
  /// PTBENCH_EMULATOR_THREADS: in which order threads and blocks run, as far as they may.
  Order threads;
  /// PTBENCH_EMULATOR_STREAMS: which operation goes first of those that may. Newest first
  /// (descending) delays as long as is allowed what was asked for early.
  Order streams;
  unsigned seed;             ///< PTBENCH_EMULATOR_SEED, of the random orders
  int devices;               ///< PTBENCH_EMULATOR_DEVICES
  std::size_t memory_bytes;  ///< PTBENCH_EMULATOR_MEMORY, of each device
  /// PTBENCH_EMULATOR_TAKEN: as if other processes had so much of each device's memory.
  std::size_t taken_bytes;
  /// PTBENCH_EMULATOR_CAPABILITY, "7.5" or "8.0,7.5": ten times what devices say theirs is. The
  /// last one is that of all devices that follow.
  std::vector<int> capabilities;
  int driver;  ///< PTBENCH_EMULATOR_DRIVER, its version as cudaDriverGetVersion tells it
  int peers;   ///< PTBENCH_EMULATOR_PEERS: of how many others a device may use the memory
  /// PTBENCH_EMULATOR_BREAK, "NAME:N": the N-th kernel whose name holds NAME breaks the device, as
  /// an illegal address does. Empty: none.
  std::string breaking_kernel;
  std::size_t breaking_launch;
  /// PTBENCH_EMULATOR_FAIL, "CALL:N": the N-th call of this function of the runtime does nothing
  /// and returns an error, from which the device recovers. Empty: none.
  std::string failing_call;
  std::size_t failing_number;
  /// PTBENCH_EMULATOR_LAST_BLOCKS: of a grid with more blocks, the last ones alone run, so that
  /// kernels can be tested behind the indices that fit into memory. 0: all run.
  std::size_t last_blocks;
  bool launches_block;  ///< CUDA_LAUNCH_BLOCKING=1
  bool counts;          ///< PTBENCH_EMULATOR_COUNT: 1 tells at the end what operations touched
  std::string kernels;  ///< PTBENCH_EMULATOR_KERNELS: libraries of kernels, with colons between
};

[[nodiscard]] const Settings& settings();

/// Of the random orders; the same numbers in every process.
[[nodiscard]] std::mt19937& random_source();

}  // namespace ptbench::emulator
