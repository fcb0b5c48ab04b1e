// One rank, started by mpirun, of the worlds that the contract suites of tests/comm run over. All
// ranks run the same tests in step (contract.py starts them).
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator_catalog.h"
#include "src/comm/library/engine_module.h"
#include "tests/comm/communicator_factories.h"
#include "tests/comm/meeting.h"

namespace ptbench::testing {
namespace {

template <class Holds>
void await(const char* what, const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) throw run_error(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody writes
  if (value == nullptr) throw run_error(fmt::format("{} is not set", name));
  return value;
}

/// In memory that the ranks share, besides the communicators' own; begins as zeros.
struct Board {
  std::array<std::atomic<int>, 4> counters;
  std::array<std::atomic<int>, 4> verdicts;  ///< of each rank; 0: none yet
  std::atomic<bool> is_told;
};

/// This rank, from the first world to the end of all tests. MPI begins once a process.
class MpiRank {
 public:
  enum Verdict : int { passed = 1, failed = 2 };

  MpiRank()
      : rank_(std::stol(variable("OMPI_COMM_WORLD_RANK"))),
        ranks_(std::stol(variable("OMPI_COMM_WORLD_SIZE"))),
        region_(rank_ == 0 ? made_region() : found_region()),
        made_(make_engine("mpi", {.memory = memory_, .region = &region_, .rank = rank_},
                          PTBENCH_BUILT_MODULES)) {}

  [[nodiscard]] Size rank() const { return rank_; }
  [[nodiscard]] Size ranks() const { return ranks_; }
  [[nodiscard]] Board& board() const { return *reinterpret_cast<Board*>(region_.arena(0).data()); }

  [[nodiscard]] std::exception_ptr run(const RankBody& body) {
    try {
      body(*made_.data->split(0, rank_, kTimeout));
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void share(RankResults& results) {
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      std::vector<float>& some = results[rank];
      std::size_t count = some.size();
      broadcast(std::as_writable_bytes(std::span(&count, 1)), rank);
      some.resize(count);
      broadcast(std::as_writable_bytes(std::span(some)), rank);
    }
  }

  /// Ends MPI, and returns once rank 0 has told the verdicts of all: mpirun ends all ranks as soon
  /// as one of them goes without having ended MPI, as those do that gave up.
  void finish(Verdict own) {
    made_ = {};
    std::array<std::atomic<int>, 4>& verdicts = board().verdicts;
    verdicts.at(static_cast<std::size_t>(rank_)) = own;
    const auto all = std::span(verdicts).first(static_cast<std::size_t>(ranks_));
    if (rank_ == 0) {
      await("a rank has no verdict",
            [&] { return std::ranges::all_of(all, [](const auto& one) { return one != 0; }); });
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        std::printf("verdict of rank %zu: %s\n", rank, all[rank] == passed ? "passed" : "failed");
      (void)std::fflush(stdout);
      board().is_told = true;
    }
    await("rank 0 tells no verdicts", [&] { return board().is_told.load(); });
  }

 private:
  /// Rank 0's descriptor, as others can open it.
  static std::filesystem::path meeting_file() {
    return std::filesystem::path(variable("PTBENCH_TEST_MEETING")) / "region";
  }

  [[nodiscard]] SharedRegion made_region() const {
    SharedRegion region = SharedRegion::create(ranks_, sizeof(Board));
    const std::filesystem::path unfinished = meeting_file().string() + ".new";
    std::ofstream(unfinished) << fmt::format("/proc/{}/fd/{}", getpid(), region.descriptor());
    std::filesystem::rename(unfinished, meeting_file());
    return region;
  }

  static SharedRegion found_region() {
    await("rank 0 makes no region", [] { return std::filesystem::exists(meeting_file()); });
    std::string descriptor;
    std::ifstream(meeting_file()) >> descriptor;
    return SharedRegion::open(::open(descriptor.c_str(), O_RDWR | O_CLOEXEC));
  }

  void broadcast(std::span<std::byte> bytes, std::size_t rank) {
    made_.data->wait(made_.data->start_broadcast(bytes, static_cast<Size>(rank)), kTimeout);
  }

  Size rank_;
  Size ranks_;
  HostMemorySource memory_;
  SharedRegion region_;
  RankCommunicators made_;
};

std::unique_ptr<MpiRank>& own_rank() {
  static std::unique_ptr<MpiRank> rank;
  return rank;
}

class TellVerdict : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats& run) override {
    TestEventListenerBase::testRunEnded(run);
    if (own_rank() != nullptr)
      own_rank()->finish(run.totals.assertions.allPassed() ? MpiRank::passed : MpiRank::failed);
  }
};

CATCH_REGISTER_LISTENER(TellVerdict)

}  // namespace

std::vector<CommunicatorFactory> communicator_factories() {
  if (own_rank() == nullptr) own_rank() = std::make_unique<MpiRank>();
  MpiRank& rank = *own_rank();
  const auto run = [&rank](Size world_size, const RankBody& body) {
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(world_size));
    thrown[static_cast<std::size_t>(rank.rank())] = rank.run(body);
    return thrown;
  };
  rank.board().counters.at(static_cast<std::size_t>(rank.rank())) = 0;
  return {{.name = "mpi",
           .world_sizes = {rank.ranks()},
           .run = run,
           .sums_in_rank_order = false,
           .rounds = 2,
           .process = RankOfProcesses{.rank = rank.rank(),
                                      .share = [&rank](RankResults& all) { rank.share(all); },
                                      .counters = rank.board().counters}}};
}

}  // namespace ptbench::testing
