#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "src/base/element_type.h"
#include "src/data/dataset.h"
#include "src/data/sampler.h"

namespace ptbench {

/// One micro-batch as it is trained on.
struct MicroBatch {
  std::span<const std::byte> inputs;  ///< micro-batch × sample elements of the plan's type
  std::span<const std::int32_t> labels;
};

/// Threads that gather micro-batches ahead of their use, in the sampler's order, into a ring of
/// one buffer more than there are threads.
class Prefetcher {
 public:
  /// What the threads do and where.
  struct Plan {
    ElementType type = ElementType::f32;  ///< as which inputs are kept
    int workers = 1;
    std::chrono::milliseconds deadline{0};  ///< longest wait for one micro-batch
    std::vector<int> cpus;                  ///< where workers may run; empty: where the maker does
  };

  /// `source` must outlive the prefetcher. Throws a usage error if there is no memory for the ring
  /// or no thread can be started.
  Prefetcher(const SampleSource& source, Sampler sampler, Plan plan);
  /// Waits for what is being gathered, and for nothing else.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next micro-batch; valid until `release`. Throws what gathering it threw, then and at every
  /// later call; a run error after the deadline. Allocates nothing.
  [[nodiscard]] MicroBatch wait();
  /// Hands the buffer of the micro-batch that `wait` returned back to the threads.
  void release();

 private:
  struct Slot {
    std::vector<Size> indices;
    std::vector<std::byte> inputs;
    std::vector<std::int32_t> labels;
    std::exception_ptr failure;
    bool ready = false;
  };

  void start_workers();
  void stop_workers();
  void work();
  [[nodiscard]] Slot& slot_of(std::uint64_t number) { return slots_[number % slots_.size()]; }

  const SampleSource* source_;
  Sampler sampler_;
  Plan plan_;
  std::mutex mutex_;  ///< of all below, and of sampler_; a claimed slot is its worker's until ready
  std::condition_variable slot_free_;    ///< workers wait for it
  std::condition_variable batch_ready_;  ///< the consumer waits for it
  std::vector<Slot> slots_;
  std::uint64_t claimed_ = 0;   ///< micro-batches that workers have taken on
  std::uint64_t consumed_ = 0;  ///< micro-batches that were released
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ptbench
