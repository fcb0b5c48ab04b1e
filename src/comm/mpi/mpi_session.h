#pragma once

#include <atomic>

#include "src/base/size.h"

namespace ptbench::over_mpi {

/// MPI in this process, from its beginning to its end: once a process.
class MpiSession {
 public:
  /// All ranks are here at once. Throws a usage error where MPI's launcher did not start this
  /// process, or MPI numbers other ranks than `rank` of `ranks`; a capability error where its
  /// library takes no calls from several threads.
  MpiSession(Size rank, Size ranks);
  /// All ranks are here at once, unless one broke it off.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// Nobody waits for others any more, in its end neither. For any thread.
  void break_off() noexcept { is_broken_ = true; }
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

 private:
  std::atomic<bool> is_broken_ = true;  ///< until it is made
};

}  // namespace ptbench::over_mpi
