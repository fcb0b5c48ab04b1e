#pragma once

#include <cstdint>
#include <utility>

#include "src/measure/step_phases.h"

namespace ptbench {

// Ranges in the NVTX domain "ptbench", for tools like Nsight Systems. Where the build lacks NVTX
// nothing here does anything; where no tool listens, a call costs a few nanoseconds. The first call
// of a process looks for a tool, and may take as long as opening a library. From any thread.

/// Opens a range on the calling thread's own stack, to be closed by `pop_nvtx`.
void push_nvtx_step(std::uint64_t step);
/// `payload`: a micro-batch's index or a number of bytes.
void push_nvtx_phase(StepPhase phase, std::uint64_t payload);
/// A slice of the gradients whose communication is begun within backward.
void push_nvtx_bucket(std::uint64_t bytes);
/// Closes the range that the calling thread opened last.
void pop_nvtx();

/// A range that any thread may end, such as communication that another thread or a stream finishes:
/// begun when it is made, ended by `end` or when it goes. One that was moved from has ended.
class NvtxSpan {
 public:
  /// Ended from the beginning.
  NvtxSpan() = default;
  /// `payload`: as of push_nvtx_phase.
  NvtxSpan(StepPhase phase, std::uint64_t payload);
  ~NvtxSpan() { end(); }
  NvtxSpan(NvtxSpan&& other) noexcept : id_(std::exchange(other.id_, kEnded)) {}
  NvtxSpan& operator=(NvtxSpan&& other) noexcept {
    if (this == &other) return *this;
    end();
    id_ = std::exchange(other.id_, kEnded);
    return *this;
  }
  NvtxSpan(const NvtxSpan&) = delete;
  NvtxSpan& operator=(const NvtxSpan&) = delete;

  /// A second call does nothing.
  void end();

 private:
  static constexpr std::uint64_t kEnded = 0;  ///< also what NVTX gives where no tool listens

  std::uint64_t id_ = kEnded;
};

}  // namespace ptbench
