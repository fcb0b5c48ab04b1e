#pragma once

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/nccl/communicator.h"

/// What a program holds of a communicator.
struct ncclComm {  // NOLINT(readability-identifier-naming)
  std::shared_ptr<ptbench::emulator::nccl::Communicator> communicator;
};

namespace ptbench::emulator::nccl {

/// The communicators of this process and what is registered with them. Handles are given out once,
/// so that one which was destroyed is known.
class Handles {
 public:
  [[nodiscard]] ncclComm_t add(std::shared_ptr<Communicator> communicator);
  /// Null where the handle is null; reports one that was destroyed.
  [[nodiscard]] std::shared_ptr<Communicator> find(ncclComm_t handle, const char* call);
  /// Reports registrations that are left, unless they `may_remain`.
  void remove(ncclComm_t handle, bool may_remain);

  [[nodiscard]] void* add_registration(ncclComm_t handle);
  [[nodiscard]] bool remove_registration(ncclComm_t handle, void* registration);

  /// Has the device get on where an operation was asked for and nobody waits for it: others do.
  void start_progress();
  /// At the end of the process.
  void stop_progress();
  void report_leaks();

 private:
  void progress();

  std::mutex mutex_;
  std::vector<std::unique_ptr<ncclComm>> all_;
  std::set<const ncclComm*> live_;
  std::map<void*, ncclComm_t> registrations_;
  std::size_t last_registration_ = 0;
  std::thread thread_;
  std::condition_variable stopped_;
  bool stops_ = false;
};

/// The process's only one.
[[nodiscard]] Handles& handles();

}  // namespace ptbench::emulator::nccl
