// The comm benchmark asks nothing of devices but what their queues and communicators promise.
#include "app/collectives/comm_bench.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "src/comm/out_of_place.h"
#include "src/comm/passing_communicator.h"
#include "src/device/host_device.h"
#include "tests/asynchronous/sites.h"

namespace ptbench::testing {
namespace {

constexpr Size kRanks = 2;

CommPlan small_plan() {
  return {
      .collectives = comm_collectives(), .sizes = {4, 4096}, .timeout = std::chrono::seconds(30)};
}

/// Puts results elsewhere, by way of a copy; where `is_careless`, also where a rank has no part.
class ApartCommunicator final : public PassingCommunicator, public OutOfPlace {
 public:
  using OutOfPlace::Ticket;
  ApartCommunicator(Communicator& inner, bool is_careless)
      : PassingCommunicator(inner), is_careless_(is_careless) {}

  using PassingCommunicator::start_all_gather;
  using PassingCommunicator::start_all_reduce;
  using PassingCommunicator::start_broadcast;
  using PassingCommunicator::start_reduce;
  using PassingCommunicator::start_reduce_scatter;
  [[nodiscard]] Ticket start_all_reduce(std::span<const float> given,
                                        std::span<float> result) override {
    return copied(given, result, all(given), [&](std::span<float> values) {
      return inner().start_all_reduce(values_of(values), {});
    });
  }
  [[nodiscard]] Ticket start_reduce_scatter(std::span<const float> given,
                                            std::span<float> result) override {
    const Range own = rank_part(std::ssize(given), rank(), world_size());
    return copied(given, result, own, [&](std::span<float> values) {
      return inner().start_reduce_scatter(values_of(values), {});
    });
  }
  [[nodiscard]] Ticket start_all_gather(std::span<const float> given,
                                        std::span<float> result) override {
    return copied(given, result, all(given), [&](std::span<float> values) {
      return inner().start_all_gather(values_of(values));
    });
  }
  [[nodiscard]] Ticket start_broadcast(std::span<const float> given, std::span<float> result,
                                       Size root) override {
    return copied(given, result, all(given), [&](std::span<float> values) {
      return inner().start_broadcast(std::as_writable_bytes(values), root);
    });
  }
  [[nodiscard]] Ticket start_reduce(std::span<const float> given, std::span<float> result,
                                    Size root) override {
    const Range own = rank() == root ? all(given) : Range{0, 0};
    return copied(given, result, own, [&](std::span<float> values) {
      return inner().start_reduce(values_of(values), root, {});
    });
  }

 private:
  [[nodiscard]] static Range all(std::span<const float> given) { return {0, std::ssize(given)}; }

  template <class Start>
  [[nodiscard]] Ticket copied(std::span<const float> given, std::span<float> result, Range own,
                              Start start_in_place) {
    std::vector<float> values(given.begin(), given.end());
    wait(start_in_place(std::span(values)), std::chrono::seconds(30));
    for (Size i = own.begin; i < own.end; ++i)
      result[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(i)];
    if (is_careless_ && (own.empty() || own.end < std::ssize(result)))
      result.back() = given.front();
    return start_barrier();
  }

  bool is_careless_;
};

std::vector<CommMeasurement> measured_apart(bool is_careless) {
  std::vector<CommMeasurement> rows;
  const ThreadGroup messages(kRanks);
  ThreadGroup(kRanks).run([&](SharedMemoryCommunicator& shared) {
    SharedMemoryCommunicator of_host(messages.region(), shared.rank());
    ControlChannel control(of_host.make_control());
    HostDevice device;
    ApartCommunicator apart(shared, is_careless);
    CommPlan plan = small_plan();
    plan.calls = 2;
    auto measured =
        measure_collectives({.device = device, .communicator = apart, .control = control}, plan);
    if (shared.rank() == 0) rows = std::move(measured);
  });
  return rows;
}

}  // namespace

TEST_CASE("a result that lies apart is written where a rank has a part in it, and counted once") {
  for (const CommMeasurement& row : measured_apart(false)) {
    CAPTURE(row.collective, row.count);
    CHECK(row.wrong == 0);
    const bool has_one_way = row.collective == "gather" || row.collective == "all_to_all" ||
                             row.collective == "send_receive";
    CHECK(row.out_of_place.has_value() == !has_one_way);
    if (row.out_of_place) CHECK(row.out_of_place->wrong == 0);
  }
  constexpr Size kChecks = 2;  // of a row
  for (const CommMeasurement& row : measured_apart(true)) {
    CAPTURE(row.collective, row.count);
    CHECK(row.wrong == 0);
    if (!row.out_of_place) continue;
    const bool leaves_some = row.collective == "reduce" || row.collective == "reduce_scatter";
    CHECK(row.out_of_place->wrong == (leaves_some ? kChecks : 0));
  }
}

TEST_CASE("collectives are measured and checked on devices that work later") {
  const Eagerness eagerness = GENERATE(from_range(kEveryEagerness));
  const CommPlan plan = small_plan();
  std::vector<CommMeasurement> rows;
  run_deferred_ranks(kRanks, eagerness, [&](const DeferredRank& rank) {
    auto measured = measure_collectives({.device = rank.backend.device(),
                                         .communicator = rank.communicator,
                                         .control = rank.control},
                                        plan);
    if (rank.control.rank() == 0) rows = std::move(measured);
  });
  REQUIRE(rows.size() == plan.collectives.size() * plan.sizes.size());
  for (const CommMeasurement& row : rows) {
    CAPTURE(row.collective, row.count);
    CHECK(row.ranks == kRanks);
    CHECK(row.count > 0);
    CHECK(row.seconds > 0);
    CHECK(row.wrong == 0);
  }
}

}  // namespace ptbench::testing
