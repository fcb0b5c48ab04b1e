#pragma once

#include <nccl.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/cuda_emulator/nccl/region.h"

namespace ptbench::emulator::nccl {

/// What ncclRedOpCreatePreMulSum made.
struct ScaledSum {
  ncclDataType_t type;
  float factor;
};

/// One rank's side of a communicator: it forms, does operations in the order in which they are
/// asked for, and ends. Forming goes on where somebody asks for its state; what others need of this
/// rank they have from the start.
class Communicator {
 public:
  struct Place {
    int ranks;
    int rank;
    int device;     ///< CUDA's number in this process
    bool blocking;  ///< whether calls wait until they are done
  };

  /// By the id of ncclGetUniqueId.
  Communicator(const Address& address, const Place& place);
  /// Of the ranks of `parent` that give the same colour to the same split.
  Communicator(std::shared_ptr<Communicator> parent, int color, int key, int device, bool blocking);

  /// ncclInProgress while it forms, then what came of it.
  ncclResult_t advance();
  /// Waits until it is formed.
  ncclResult_t formed();
  /// What ncclCommGetAsyncError tells, which is asked for in the meantime.
  ncclResult_t state();
  /// Success, or why no operation can be asked for now.
  ncclResult_t usable(const char* call);

  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] Region& region() { return *region_; }
  [[nodiscard]] Region::Rank& self() { return region_->rank(place_.rank); }

  /// The next operation's number. This and all that follows under the emulated device's lock.
  U64 issue() { return issued_++; }
  [[nodiscard]] bool has_turn(U64 number) const { return finished_ == number; }
  void finish() { ++finished_; }
  [[nodiscard]] bool is_pending() const { return !is_over_ && issued_ != finished_; }

  /// After ncclCommFinalize or ncclCommDestroy: no more operations are asked for, those that were
  /// go on. Dead ranks are no matter then.
  void leave() { end(Presence::left); }
  /// After ncclCommAbort: operations end without being done.
  void abort() { end(Presence::aborted); }
  [[nodiscard]] bool is_aborted() const { return presence_ == Presence::aborted; }
  [[nodiscard]] bool has_left() const { return presence_ == Presence::left; }

  ncclRedOp_t add(const ScaledSum& sum);
  [[nodiscard]] std::optional<ScaledSum> scaled_sum(ncclRedOp_t op) const;
  [[nodiscard]] bool remove(ncclRedOp_t op);

  /// Whether the first operation of a communicator that blocks nobody was asked for just now.
  [[nodiscard]] bool is_first() {
    const bool first = !place_.blocking && !had_operation_.exchange(true);
    if (first) busy_answers_ = 1;
    return first;
  }

 private:
  ncclResult_t join();
  ncclResult_t gather_split();
  ncclResult_t gather_ranks();
  ncclResult_t find_duplicates();
  void end(Presence presence);

  Place place_;
  std::mutex mutex_;  ///< of what follows
  Address address_;
  std::shared_ptr<Region> region_;
  std::shared_ptr<Communicator> parent_;  ///< while it is split
  std::size_t split_ = 0;
  int color_ = 0;
  std::size_t splits_ = 0;  ///< of this one
  std::atomic<ncclResult_t> result_ = ncclInProgress;
  Peers peers_;
  std::map<ncclRedOp_t, ScaledSum> sums_;
  int last_sum_ = ncclNumOps;

  std::atomic<U64> issued_ = 0;
  std::atomic<U64> finished_ = 0;
  std::atomic<Presence> presence_ = Presence::joined;
  std::atomic<bool> had_operation_ = false;
  std::atomic<int> busy_answers_ = 0;
  std::atomic<bool> is_over_ = false;
};

/// What ncclGetLastError tells.
ncclResult_t explain(ncclResult_t result, const std::string& why);
[[nodiscard]] const char* last_explanation();

}  // namespace ptbench::emulator::nccl
