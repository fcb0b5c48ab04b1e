// A device, a communicator and a strategy that are added in a folder of their own, by a row each,
// train like those of the catalogs.
#include <catch2/catch.hpp>

#include "src/comm/control_channel.h"
#include "src/data/source.h"
#include "tests/extension/extensions.h"
#include "tests/strategies/graphs.h"
#include "tests/strategies/training.h"
#include "tests/strategies/verification.h"

namespace ptbench::testing {
namespace {

template <class Row>
std::vector<Row> with(std::vector<Row> catalog, Row row) {
  catalog.push_back(std::move(row));
  return catalog;
}

/// `strategy` of these names over one replica.
class NamedTraining {
 public:
  NamedTraining(const std::string& device, const std::string& strategy,
                const CommunicatorRow& communicator)
      : site_(open_site({.device = device, .topology = discover_topology()},
                        with(site_catalog(), lent_core()))),
        communicators_(communicator.make({.memory = site_.device->memory()})),
        control_(std::move(communicators_.control)),
        data_(synthetic_data({.sample_shape = {20}, .classes = 4, .samples = 33, .seed = 1})) {
    strategy_ =
        build_over(find_strategy(strategy, with(strategy_catalog(), patient_strategy())),
                   std::make_unique<Replica>(
                       first_plan(mlp_graph(), {.batch = 8, .global_batch = 8}, *site_.backend),
                       StepSpec{.optimizer = sgd()}, communicators_.data->memory()),
                   batches_of(data_, {.micro_batch = 8}, {.device = site_.device.get()}),
                   {.communicator = *communicators_.data, .control = control_});
    strategy_->replica().program().initialise(0);
  }

  [[nodiscard]] Strategy& strategy() { return *strategy_; }

 private:
  Site site_;
  RankCommunicators communicators_;
  ControlChannel control_;
  DataSource data_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace

TEST_CASE("a device, a communicator and a strategy of their own folder train") {
  NamedTraining own("lent", "patient", renamed_communicator());
  NamedTraining usual("cpu", "serial", find_communicator(kAutomaticCommunicator, 1));
  CHECK(verify_alone(own.strategy(), usual.strategy()).status == VerificationStatus::passed);
  NamedTraining again("lent", "patient", renamed_communicator());
  NamedTraining once_more("lent", "patient", renamed_communicator());
  CHECK(again.strategy().step() == once_more.strategy().step());
  CHECK(again.strategy().step() == once_more.strategy().step());
}

TEST_CASE("a name that no row has is told with those that there are") {
  CHECK_THROWS_WITH(open_site({.device = "nowhere", .topology = discover_topology()}),
                    Catch::Contains("nowhere"));
  CHECK_THROWS_WITH(find_strategy("patient"), Catch::Contains("unknown strategy 'patient'"));
}

}  // namespace ptbench::testing
