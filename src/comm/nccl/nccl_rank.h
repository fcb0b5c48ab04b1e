#pragma once

#include <nccl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/function_ref.h"
#include "src/comm/communicator.h"
#include "src/comm/shm/shared_region.h"
#include "src/device/device.h"

namespace ptbench::nccl {

class NcclComm;
class NcclCommunicator;

/// What all communicators of one rank have in common: its GPU, and what the ranks of its host know
/// of each other. Once a rank has given up, all of NCCL's work here is aborted: kernels that wait
/// for a rank which does not come would never end. For one thread.
class NcclRank {
 public:
  NcclRank(Device& device, SharedRegion region, Size rank, Communicator::Timeout timeout);

  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const SharedRegion& region() const { return region_; }
  /// Of the region.
  [[nodiscard]] Size number() const { return rank_; }
  /// Of waits for others that nobody else limits.
  [[nodiscard]] Communicator::Timeout timeout() const { return timeout_; }
  void make_current() const;

  void add(NcclCommunicator& communicator) { communicators_.push_back(&communicator); }
  void remove(const NcclCommunicator& communicator) { std::erase(communicators_, &communicator); }
  /// Gives all messages to their streams that were started and wait for others to be started.
  void send_messages();

  /// Counts an operation that this rank has started, so that the watch sees whether it gets on; one
  /// of the world also for its waiters there. Returns how many of the world there were.
  std::uint64_t count_start(bool of_world) const;

  /// Waits until `holds`, while NCCL's state of `comm` is sound and no rank has given up. What
  /// throws says that `doing` was on its way; `number` as count_start gave it, 0: of no use.
  void await(NcclComm& comm, FunctionRef<bool()> holds, Communicator::Timeout timeout,
             FunctionRef<std::string()> doing, std::uint64_t number = 0);
  /// Aborts all communicators, and says so to the other ranks.
  [[noreturn]] void give_up(const Error& error);
  void give_up(std::string_view reason) noexcept;
  /// Throws a run error where a rank has given up.
  void require_going(FunctionRef<std::string()> doing);
  [[nodiscard]] bool is_aborted() const { return is_aborted_; }

 private:
  void abort() noexcept;
  [[nodiscard]] std::string late_ranks(std::uint64_t number) const;

  Device& device_;
  SharedRegion region_;
  Size rank_;
  Communicator::Timeout timeout_;
  int index_;
  SteadyClock clock_;
  std::vector<NcclCommunicator*> communicators_;
  bool is_aborted_ = false;
};

}  // namespace ptbench::nccl
