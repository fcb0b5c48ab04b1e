#pragma once

#include <sched.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "src/comm/library/group_library.h"
#include "src/comm/shm/shared_region.h"

namespace ptbench {

/// Ends a rank's waits for messages in a library, which knows nothing of ranks that gave up. Looks
/// from a thread of its own, which there is from the first wait on and which sleeps where nobody
/// has waited for a while: a wait costs no wake-up.
class SurrenderWatch {
 public:
  /// `cpus`: that its thread may run on.
  SurrenderWatch(SharedRegion region, const cpu_set_t& cpus);
  ~SurrenderWatch();
  SurrenderWatch(const SurrenderWatch&) = delete;
  SurrenderWatch& operator=(const SurrenderWatch&) = delete;

  /// While it lives, `library` is aborted where a rank has given up. One at a time; the library
  /// outlives it.
  class Wait {
   public:
    Wait(SurrenderWatch& watch, GroupLibrary& library) : watch_(watch) { watch_.begin(library); }
    ~Wait() { watch_.end(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    SurrenderWatch& watch_;
  };

 private:
  void begin(GroupLibrary& library);
  void end() noexcept;
  void watch();

  const SharedRegion region_;
  const cpu_set_t cpus_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  GroupLibrary* library_ = nullptr;  ///< null: nobody waits
  std::uint64_t waits_ = 0;
  bool is_asleep_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace ptbench
