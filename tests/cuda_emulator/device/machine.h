#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_emulator/device/grid.h"
#include "tests/cuda_emulator/device/kernels.h"
#include "tests/cuda_emulator/device/marks.h"
#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/device/page_locked.h"
#include "tests/cuda_emulator/device/scheduler.h"
#include "tests/cuda_emulator/device/streams.h"

namespace ptbench::emulator {

/// Held by every call of the runtime, and given to others while all there is to do waits for them.
class MachineLock {
 public:
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }
  /// Gives it up, however often the calling thread holds it, for a moment.
  void pause();

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

/// All devices of this process.
class Machine {
 public:
  Machine();

  [[nodiscard]] MachineLock& mutex() { return mutex_; }
  [[nodiscard]] int devices() const { return devices_; }
  [[nodiscard]] DeviceMemory& memory() { return memory_; }
  [[nodiscard]] PageLockedMemory& page_locked() { return page_locked_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Streams& streams() { return streams_; }
  [[nodiscard]] GridRunner& grid() { return grid_; }
  [[nodiscard]] const Kernels& kernels() const { return kernels_; }
  /// Null where kernels do not tell their accesses.
  [[nodiscard]] Marks* marks() { return marks_.get(); }

  [[nodiscard]] std::set<const Event*>& events() { return events_; }
  /// Graphs and executable graphs that were made and not destroyed.
  [[nodiscard]] int& graphs() { return graphs_; }
  /// Pairs of devices of which the first may use the second's memory.
  [[nodiscard]] std::set<std::pair<int, int>>& peers() { return peers_; }

  /// Whether an error has made all later work impossible.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  /// Whether a kernel that begins now can run; the one that the settings name breaks the device.
  [[nodiscard]] bool may_run(const std::string& kernel);
  /// Whether this call of the runtime is the one that the settings have fail.
  [[nodiscard]] bool must_fail(const std::string& call);

  /// What an operation as a whole reads or writes; reports what is wrong with it.
  void touch(const char* what, const void* at, std::size_t bytes, bool writes);
  /// One access of a thread; reports what is wrong with it.
  void access(Thread& thread, const void* at, U32 bytes, Access kind, const char* file, int line);
  /// Reports a fault (SIGSEGV) at this address, where it is one of the emulation.
  void explain_fault(const void* address);
  /// Tells what operations touched, where that is asked for.
  void tell_traffic() const;
  /// Reports what was never freed or destroyed.
  void report_leaks();

  /// The device of the operation that runs, or ran last: variables hold what it has in them.
  [[nodiscard]] int running_device() const { return running_device_; }

 private:
  [[nodiscard]] std::string outside(const U8* at, U32 bytes, Access kind);
  /// Each device has its own copy of the modules' variables, one of which lies in them.
  void use_variables_of(int device);
  void remember(Thread& thread, const U8* at, U32 bytes, Access kind, const char* file, int line);

  MachineLock mutex_;
  int devices_;
  DeviceMemory memory_;
  PageLockedMemory page_locked_;
  Scheduler scheduler_;
  Streams streams_;
  GridRunner grid_;
  Kernels kernels_;
  std::unique_ptr<Marks> marks_;
  std::set<const Event*> events_;
  std::set<std::pair<int, int>> peers_;
  int graphs_ = 0;
  int running_device_ = 0;
  /// What variables hold on the devices that have not run last, by device and name.
  std::map<int, std::map<std::string, std::vector<U8>>> variables_;
  std::size_t launches_ = 0;  ///< of the kernel that breaks the device
  std::size_t calls_ = 0;     ///< of the function that fails
  bool is_broken_ = false;
};

/// The process's only one; made at the first call.
[[nodiscard]] Machine& machine();
/// Whether it was made.
[[nodiscard]] bool has_machine();

}  // namespace ptbench::emulator
