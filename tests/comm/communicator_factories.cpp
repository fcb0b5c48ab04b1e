#include "tests/comm/communicator_factories.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "src/comm/catalog.h"
#include "src/comm/solo.h"
#include "tests/comm/contract_values.h"
#include "tests/comm/gpu_ranks.h"
#include "tests/support/built_modules.h"
#include "tests/support/communicators.h"
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

/// Control messages go by shared memory; the values by the engine.
std::vector<std::exception_ptr> run_gloo(Size world_size, const RankBody& body) {
  const SharedRegion region = SharedRegion::create(world_size, 1);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(world_size));
  std::vector<std::jthread> threads;
  for (Size rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        HostMemorySource memory;
        const RankCommunicators made =
            find_communicator("gloo", 2).make({.memory = memory, .region = &region, .rank = rank});
        body(*made.data);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  threads.clear();
  return failures;
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
  if (is_built("gloo"))
    factories.push_back({.name = "gloo",
                         .world_sizes = {1, 2, 3},
                         .run = run_gloo,
                         .sums_in_rank_order = false,
                         .tells_lengths = false,
                         .rounds = 2});
  return factories;
}

/// Of sums in bf16, and of values that are scaled before they are added, each rank rounds its own.
bool TestWorld::agrees(std::span<const float> found, std::span<const float> expected,
                       Reduction reduction) const {
  const bool is_narrow = reduction.wire == WireType::bf16;
  if (found.size() != expected.size()) return false;
  const bool is_exact = factory.scales_sums || (reduction.scale == 1 && !is_narrow);
  if (is_exact && (factory.sums_in_rank_order || size <= 2 || is_narrow))
    return found.empty() || std::memcmp(found.data(), expected.data(), found.size_bytes()) == 0;
  const float most = kLargestValue * static_cast<float>(size) * std::abs(reduction.scale);
  const float bound = most * (is_narrow ? 0x1p-7F : 0x1p-22F);
  return std::ranges::equal(found, expected, [bound](float left, float right) {
    return std::abs(left - right) <= bound;
  });
}

std::vector<TestWorld> test_worlds() {
  std::vector<TestWorld> worlds;
  for (const CommunicatorFactory& factory : communicator_factories())
    for (const Size size : factory.world_sizes) worlds.push_back({factory, size});
  return worlds;
}

}  // namespace ptbench::testing
