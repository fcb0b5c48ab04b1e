#include "tests/comm/communicator_factories.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/communicator_catalog.h"
#include "src/comm/ranks_apart.h"
#include "src/comm/solo.h"
#include "tests/comm/gpu_ranks.h"
#include "tests/support/built_modules.h"
#include "tests/support/communicators.h"
#include "tests/support/star.h"
#include "tests/support/tested_device.h"

namespace ptbench::testing {
namespace {

std::vector<std::exception_ptr> run_solo(Size /*world_size*/, const RankBody& body) {
  HostMemorySource memory;
  SoloCommunicator solo(memory);
  try {
    body(solo);
  } catch (...) {
    return {std::current_exception()};
  }
  return {nullptr};
}

std::vector<std::exception_ptr> run_shared(Size world_size, const RankBody& body) {
  return ThreadGroup(world_size).failures(body);
}

std::vector<std::exception_ptr> run_control(Size world_size, const RankBody& body) {
  return ThreadGroup(world_size).failures([&](SharedMemoryCommunicator& data) {
    body(*data.make_control());
  });
}

/// The group is all ranks of a larger world but the first, in reversed order.
std::vector<std::exception_ptr> run_group(Size world_size, const RankBody& body) {
  auto failures = ThreadGroup(world_size + 1).failures([&](SharedMemoryCommunicator& data) {
    const auto group = data.split(data.rank() == 0 ? 0 : 1, -data.rank());
    if (data.rank() != 0) body(*group);
  });
  failures.erase(failures.begin());
  std::ranges::reverse(failures);
  return failures;
}

/// Host messages go by shared memory, or by `hub` as between hosts; the values as `name` says.
std::vector<std::exception_ptr> run_gloo_by(StarHub* hub, Size world_size, const RankBody& body,
                                            const std::string& name = "gloo",
                                            const std::vector<std::string>& hosts = {}) {
  const SharedRegion region = SharedRegion::create(world_size, 1);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(world_size));
  std::vector<std::jthread> threads;
  for (Size rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        HostMemorySource memory;
        std::optional<RanksApart> apart;
        if (hub != nullptr)
          apart = {.hosts = hosts, .words = hub->join(region, rank), .bytes_per_rank = 1U << 24U};
        const RankCommunicators made =
            find_communicator(name, 2).make({.memory = memory,
                                             .region = &region,
                                             .rank = rank,
                                             .apart = apart ? &*apart : nullptr});
        body(*made.data);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  threads.clear();
  return failures;
}

std::vector<std::exception_ptr> run_gloo(Size world_size, const RankBody& body) {
  return run_gloo_by(nullptr, world_size, body);
}

std::vector<std::exception_ptr> run_gloo_between_hosts(Size world_size, const RankBody& body) {
  StarHub hub;
  return run_gloo_by(&hub, world_size, body);
}

/// Two ranks a host, but for the first, which has `first`, and for the last.
std::vector<std::exception_ptr> run_leaders(Size first, Size world_size, const RankBody& body) {
  StarHub hub;
  std::vector<std::string> hosts;
  for (Size rank = 0; rank < world_size; ++rank)
    hosts.push_back(std::to_string((rank + 2 - first) / 2));
  return run_gloo_by(&hub, world_size, body, "shm+gloo", hosts);
}

}  // namespace

std::vector<CommunicatorFactory> communicator_factories() {
  if (tested_device()) {
    const auto ranks = std::make_shared<GpuRanks>();
    return {
        {.name = "nccl",
         .world_sizes = {1, 2, 3, 4},
         .run = [ranks](Size size, const RankBody& body) { return ranks->failures(size, body); },
         .scales_sums = false,
         .tells_lengths = false,
         .rounds = 2}};
  }
  std::vector<CommunicatorFactory> factories{
      {.name = "solo", .world_sizes = {1}, .run = run_solo},
      {.name = "shm", .world_sizes = {1, 2, 3, 4}, .run = run_shared},
      {.name = "control of shm", .world_sizes = {2}, .run = run_control},
      {.name = "group of shm", .world_sizes = {1, 3}, .run = run_group}};
  if (is_built("gloo")) {
    const CommunicatorFactory gloo{.name = "gloo",
                                   .world_sizes = {1, 2, 3},
                                   .run = run_gloo,
                                   .sums_in_rank_order = false,
                                   .tells_lengths = false,
                                   .rounds = 2};
    factories.push_back(gloo);
    factories.push_back(gloo);
    factories.back().name = "gloo between hosts";
    factories.back().world_sizes = {3};
    factories.back().run = run_gloo_between_hosts;
    factories.push_back(gloo);
    factories.back().name = "leaders by gloo";
    factories.back().world_sizes = {2, 3, 4};
    factories.back().run = [](Size size, const RankBody& body) {
      return run_leaders(2, size, body);
    };
    factories.push_back(gloo);
    factories.back().name = "leaders of three hosts by gloo";
    factories.back().world_sizes = {4};
    factories.back().run = [](Size size, const RankBody& body) {
      return run_leaders(1, size, body);
    };
  }
  return factories;
}

}  // namespace ptbench::testing
