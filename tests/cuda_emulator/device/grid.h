#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_emulator/device/fiber.h"
#include "tests/cuda_emulator/device/settings.h"
#include "tests/cuda_emulator/ptx/kernel.h"

namespace ptbench::emulator {

inline constexpr U32 kWarp = 32;
inline constexpr U32 kMaxThreads = 1024;  ///< of a block
inline constexpr U32 kSharedBytes = 256 << 10U;
inline constexpr U32 kBarriers = 16;

/// Runs the blocks of a launch one after the other, and the threads of a block in turn, each on a
/// fiber until it waits or ends.
class GridRunner {
 public:
  explicit GridRunner(Order order);

  void run(const Kernel& kernel, Dim grid, Dim block, const U8* parameters, U32 dynamic_shared);

  // What threads call.
  void barrier(Thread& thread, U32 id, U32 count, bool waits);
  U32 barrier_count(Thread& thread, U32 id, U32 count, bool value, U32* threads);
  struct Call {
    Collective kind;
    U32 value, choice, clamp, mask;
    const char* file;
    int line;
  };
  U32 exchange(Thread& thread, const Call& call, bool* in_range, U32* all);
  void yield(Thread& thread);

  [[nodiscard]] const Kernel& kernel() const { return *kernel_; }
  [[nodiscard]] const Block& block() const { return block_; }
  [[nodiscard]] U8* shared_window() const { return shared_; }
  /// Whether this lies on the stack of a thread.
  [[nodiscard]] bool is_own_memory(const void* address) const;
  /// "relu.cu:12: kernel relu: block (1, 0, 0), thread (3, 0, 0)".
  [[nodiscard]] std::string place_of(const Thread& thread, const char* file, int line) const;

 private:
  enum class State : U8 { unstarted, running, ready, at_barrier, at_collective, ended };
  struct Slot {
    State state;
    U32 barrier;        ///< that it waits at
    U32 barrier_value;  ///< of bar.red: true values
    U32 barrier_threads;
    U32 result;     ///< of a collective
    U32* gathered;  ///< where it wants what all lanes brought
    bool in_range;
    Fiber* fiber;
  };
  struct Barrier {
    U32 arrived, needed, values;
  };
  /// Lanes of a warp that meet.
  struct Meeting {
    U32 mask, arrived;
    Collective kind;
    std::array<U32, kWarp> value, choice, clamp;
  };

  static void fiber_body();
  void begin_block(Dim index);
  void run_block();
  void clear_shared();
  void run_fiber(Fiber& fiber);
  void work_on_fiber();
  void wait(Thread& thread, State state);
  void make_ready(U32 number);
  U32 next_ready();
  void complete_if_full(U32 id);
  void complete(U32 id);
  void ended(U32 number);
  Meeting& meeting_for(Thread& thread, const Call& call);
  void conclude(Thread& last, Meeting& meeting, U32 lanes, const Call& call);
  [[noreturn]] void report_hang() const;

  Order order_;
  Fiber main_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* current_ = &main_;
  U8* shared_;
  const Kernel* kernel_ = nullptr;
  const U8* parameters_ = nullptr;
  Block block_{};
  std::array<Thread, kMaxThreads> threads_{};
  std::array<Slot, kMaxThreads> slots_{};
  std::array<U32, kMaxThreads> sequence_{};  ///< in which threads begin
  std::array<Barrier, kBarriers> barriers_{};
  std::array<std::array<Meeting, 4>, kMaxThreads / kWarp> meetings_{};
  std::vector<U32> ready_;
  std::size_t ready_from_ = 0;
  U32 started_ = 0;
  U32 live_ = 0;
  U32 at_barriers_ = 0;
  U32 blocks_run_ = 0;
};

}  // namespace ptbench::emulator
