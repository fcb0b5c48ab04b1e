#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "src/base/error.h"
#include "src/comm/control_channel.h"
#include "strategies/conductor.h"
#include "tests/support/communicators.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;

/// Only counts its steps.
class Counted final : public Strategy {
 public:
  Replica& replica() override { throw Defect("there is no replica"); }

 private:
  void take_step() override {}
  float read_loss() override { return 0; }
};

}  // namespace

TEST_CASE("only rank 0 is asked, and every rank gets its answer") {
  constexpr Size kRanks = 3;
  std::vector<int> asked(kRanks);
  std::vector<int> heard(kRanks);
  testing::ThreadGroup(kRanks).run([&](SharedMemoryCommunicator& communicator) {
    ControlChannel control(communicator.make_control());
    Conductor conductor(control, 10s);
    const RankRole role(conductor);
    const auto rank = static_cast<std::size_t>(communicator.rank());
    for (const bool answer : {true, false, true})
      if (role.decide([&] {
            ++asked[rank];
            return answer;
          }))
        ++heard[rank];
  });
  CHECK(asked == std::vector{3, 0, 0});
  CHECK(heard == std::vector{2, 2, 2});
}

TEST_CASE("the steps that rank 0 makes are made by all, until it has done") {
  constexpr Size kRanks = 3;
  std::vector<Size> steps(kRanks);
  std::vector<int> led(kRanks);
  testing::ThreadGroup(kRanks).run([&](SharedMemoryCommunicator& communicator) {
    ControlChannel control(communicator.make_control());
    Conductor conductor(control, 10s);
    const RankRole role(conductor);
    const auto rank = static_cast<std::size_t>(communicator.rank());
    Counted counted;
    for (int time = 0; time < 2; ++time)
      role.in_step(counted, [&] {
        ++led[rank];
        for (int step = 0; step < 4; ++step) (void)counted.step();
      });
    steps[rank] = counted.steps();
  });
  CHECK(led == std::vector{2, 0, 0});
  CHECK(steps == std::vector<Size>{8, 8, 8});
}

}  // namespace ptbench
