#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "src/comm/control_channel.h"
#include "src/comm/shm/shared_memory.h"
#include "src/comm/solo.h"

namespace ptbench::testing {

/// A group whose ranks are threads of this process.
class ThreadGroup {
 public:
  /// `cores` and `longest_nap` as SharedRegion::create takes them.
  explicit ThreadGroup(Size world_size, Bytes bytes_per_rank = Bytes{64} << 20U, int cores = 0,
                       std::chrono::milliseconds longest_nap = SharedRegion::kLongestNap)
      : region_(SharedRegion::create(world_size, bytes_per_rank, cores, 1, longest_nap)) {}

  [[nodiscard]] const SharedRegion& region() const { return region_; }

  /// Calls body(communicator) once on each rank's thread. Throws what the lowest rank threw. No
  /// assertions of Catch2 in `body`: they are for one thread.
  void run(const std::function<void(SharedMemoryCommunicator&)>& body) const {
    for (const std::exception_ptr& failure : failures(body))
      if (failure) std::rethrow_exception(failure);
  }

  /// What each rank threw, by rank; null for one that returned.
  [[nodiscard]] std::vector<std::exception_ptr> failures(
      const std::function<void(SharedMemoryCommunicator&)>& body) const {
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(region_.world_size()));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < thrown.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          SharedMemoryCommunicator communicator(region_, static_cast<Size>(rank));
          body(communicator);
        } catch (...) {
          thrown[rank] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    return thrown;
  }

 private:
  SharedRegion region_;
};

/// Beside the data of the same ranks.
[[nodiscard]] inline ControlChannel control_of(const SharedMemoryCommunicator& shared) {
  return ControlChannel(shared.make_control());
}

/// Of a world of one. `memory` outlives it.
[[nodiscard]] inline ControlChannel control_alone(MemorySource& memory) {
  return ControlChannel(std::make_unique<SoloCommunicator>(memory));
}

/// What `failure` says; "" for none.
[[nodiscard]] inline std::string message_of(const std::exception_ptr& failure) {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace ptbench::testing
