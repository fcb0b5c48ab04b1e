#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/comm/communicator_catalog.h"
#include "tests/comm/meeting.h"
#include "tests/support/built_modules.h"

namespace ptbench {
namespace {

using testing::kTimeout;
using Names = std::vector<std::string>;

TEST_CASE("communicators are known by their names", "[comm]") {
  CHECK(communicator_choices(true) ==
        Names{"auto", "shm", "gloo", "mpi", "shm+gloo", "shm+mpi", "nccl"});
  CHECK(communicator_choices(false) ==
        Names{"auto", "shm", "gloo", "mpi", "shm+gloo", "shm+mpi", "nccl", "solo"});
  CHECK(find_communicator("auto", 1).name == "solo");
  CHECK(find_communicator("auto", 2).name == "shm");
  CHECK(find_communicator("auto", 2, true).name == "nccl");
  CHECK(find_communicator("shm", 1).name == "shm");
  CHECK(find_communicator("solo", 4).name == "solo");
  for (const CommunicatorRow& row : communicator_catalog()) {
    CHECK_FALSE(row.summary.empty());
    CHECK_FALSE(row.needs.empty());
  }
}

TEST_CASE("names that nobody knows are no communicators", "[comm]") {
  CHECK_NOTHROW(require_communicator("shm"));
  CHECK_THROWS_AS(find_communicator("tcp", 2), Defect);
}

TEST_CASE("a rank gets a communicator for data and one for control messages", "[comm]") {
  for (const CommunicatorRow& row : communicator_catalog()) {
    if (row.on_gpus) continue;  // on devices, as gpu_ranks has it
    if (!row.engine.empty() && !testing::is_built(row.engine)) continue;  // not built here
    if (row.engine == "mpi") continue;                                    // needs its launcher
    INFO(row.name);
    const Size ranks = row.several_ranks ? 3 : 1;
    const SharedRegion region = SharedRegion::create(ranks, 1);
    std::vector<float> sums(static_cast<std::size_t>(ranks));
    Names names(static_cast<std::size_t>(ranks));
    std::vector<std::jthread> threads;
    for (Size rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        HostMemorySource memory;
        const RankCommunicators made =
            row.make({.memory = memory, .region = &region, .rank = rank});
        const auto place = static_cast<std::size_t>(made.data->rank());
        float sum = 1;
        const auto ticket = made.data->start_all_reduce(values_of(std::span(&sum, 1)), {});
        made.control->wait(made.control->start_barrier(), kTimeout);
        made.data->wait(ticket, kTimeout);
        sums[place] = sum;
        names[place] = made.data->name();
      });
    threads.clear();
    CHECK(std::ranges::count(sums, static_cast<float>(ranks)) == ranks);
    CHECK(std::ranges::count(names, row.name) == ranks);
  }
}

}  // namespace
}  // namespace ptbench
