#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/comm/communicator.h"

namespace ptbench::testing {

/// What one rank does. No assertions of Catch2: they are for one thread.
using RankBody = std::function<void(Communicator&)>;

/// By rank, what each has found.
using RankResults = std::vector<std::vector<float>>;

/// Where ranks are processes, all of which run the same test: this process is one of them.
struct RankOfProcesses {
  Size rank = 0;
  /// Gives all processes what each has in its own place.
  std::function<void(RankResults&)> share;
  /// Of all ranks, in memory that the processes share.
  std::span<std::atomic<int>> counters;
};

/// A row of what the contract suite is run over.
struct CommunicatorFactory {
  std::string name;
  std::vector<Size> world_sizes;
  /// Calls the body once on every rank of a world of that size, each on a thread of its own; where
  /// ranks are processes, on that of this one. Returns what each rank threw, by its number in that
  /// world; null for one that returned, or is another process.
  std::function<std::vector<std::exception_ptr>(Size world_size, const RankBody& body)> run;
  /// Scaled sums, and sums of narrow values, are those in fp32 bit by bit, rounded once.
  bool scales_sums = true;
  /// Sums of fp32 values are those in rank order bit by bit.
  bool sums_in_rank_order = true;
  /// It says so where a message is as long as its receiver does not expect.
  bool tells_lengths = true;
  int rounds = 20;                                        ///< of what is done again and again
  std::optional<RankOfProcesses> process = std::nullopt;  ///< empty: ranks are threads
};

/// All communicators of this build, and the channels that one of them has for groups and control
/// messages; where tested_device() names a GPU, those of GPUs, as far as there are devices for
/// their worlds. To add one: a row.
[[nodiscard]] std::vector<CommunicatorFactory> communicator_factories();

/// A world of one of these.
struct TestWorld {
  CommunicatorFactory factory;
  Size size = 1;

  /// Whether a rank may have got `found` for `expected`, which every rank has a share of.
  [[nodiscard]] bool agrees(std::span<const float> found, std::span<const float> expected,
                            Reduction reduction) const;

  [[nodiscard]] std::string text() const { return factory.name + " of " + std::to_string(size); }
  [[nodiscard]] std::vector<std::exception_ptr> failures(const RankBody& body) const {
    return factory.run(size, body);
  }
  /// Whether what becomes of that rank is known here.
  [[nodiscard]] bool sees(Size rank) const {
    return !factory.process || factory.process->rank == rank;
  }
  /// Fills in what ranks have found that are other processes.
  void share(RankResults& results) const {
    if (factory.process) factory.process->share(results);
  }
  /// Throws what the lowest rank threw.
  void run(const RankBody& body) const {
    for (const std::exception_ptr& failure : failures(body))
      if (failure) std::rethrow_exception(failure);
  }
};

/// Every factory's worlds.
[[nodiscard]] std::vector<TestWorld> test_worlds();

}  // namespace ptbench::testing
