#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/base/function_ref.h"
#include "src/comm/nccl/nccl_rank.h"
#include "src/comm/shm/shared_layout.h"
#include "src/device/cuda/handles.h"
#include "src/device/queue.h"

namespace ptbench::nccl {

/// The end of an operation in the stream of a communicator of NCCL.
struct Mark {
  std::uint64_t ticket = 0;  ///< 0: none yet
  std::uint64_t number = 0;  ///< as NcclRank::count_start has it
  shared::Operation operation;
  OwnedEvent event;
};

/// One of NCCL's communicators, with the stream of high priority that its operations go to in the
/// order in which they are started. NCCL answers at once, and is asked how far it is.
class NcclComm {
 public:
  /// `start` begins to make the communicator; waits until it is made. `rank` outlives it.
  NcclComm(NcclRank& rank, FunctionRef<ncclResult_t(ncclComm_t* comm, ncclConfig_t* config)> start,
           Communicator::Timeout timeout);
  /// Waits for what was started, where all ranks go on.
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  [[nodiscard]] ncclComm_t handle() const { return handle_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  /// What is given from now on begins after that event; null: at once.
  void wait_for(const Event* event) const;
  /// That event of the device stands for the end of what was given so far; null: none does.
  void record(Event* event) const;
  /// Gives `calls`, made as one group, to the stream.
  void give(FunctionRef<void()> calls, const shared::Operation& operation);
  /// The end of what was given so far is that of the operation.
  void mark(std::uint64_t ticket, std::uint64_t number, const shared::Operation& operation);
  /// The mark of the last operation up to `ticket`; where that many have been marked since that it
  /// is gone, a later one. Null where there was none.
  [[nodiscard]] const Mark* last_until(std::uint64_t ticket) const;
  [[nodiscard]] static bool is_done(const Mark& mark);

  /// How NCCL is: success, in progress, or what went wrong, in the background too.
  [[nodiscard]] ncclResult_t state() const;
  [[nodiscard]] std::string error_text(ncclResult_t state) const;
  void abort() noexcept;

 private:
  void settle(Communicator::Timeout timeout, FunctionRef<std::string()> doing);
  void end();

  static constexpr std::size_t kMarks = 512;  // more than a step has operations

  NcclRank& rank_;
  ncclComm_t handle_ = nullptr;  ///< null: aborted
  OwnedStream stream_;
  std::array<Mark, kMarks> marks_;  ///< by turn; events are made when they are first needed
  std::uint64_t marked_ = 0;
};

}  // namespace ptbench::nccl
