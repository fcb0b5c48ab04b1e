// The comm benchmark asks nothing of devices but what their queues and communicators promise.
#include "src/doctor/comm_bench.h"

#include <catch2/catch.hpp>

#include "tests/asynchronous/sites.h"

namespace ptbench::testing {
namespace {

constexpr Size kRanks = 2;

CommPlan small_plan() {
  return {
      .collectives = comm_collectives(), .sizes = {4, 4096}, .timeout = std::chrono::seconds(30)};
}

}  // namespace

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
