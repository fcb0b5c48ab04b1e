#include "strategies/serial.h"

#include "src/base/error.h"

namespace ptbench {
namespace {

class Serial final : public Strategy {
 public:
  explicit Serial(std::unique_ptr<Replica> replica) : replica_(std::move(replica)) {}

  [[nodiscard]] Replica& replica() override { return *replica_; }
  [[nodiscard]] bool record_steps() override { return records_ = replica_->can_record_steps(); }

 private:
  void take_step() override {
    const bool records = records_ && !is_observed();
    if (records && replica_->has_recorded_steps()) {
      replica_->replay_step(next_update());
    } else {
      replica_->make_step(next_update());
      if (records) replica_->record_step(next_update());
    }
    if (replica_->finish_step()) count_update();
  }
  float read_loss() override { return replica_->read_loss(); }

  std::unique_ptr<Replica> replica_;
  bool records_ = false;
};

}  // namespace

StrategyRow serial_strategy() {
  return {.name = "serial",
          .summary = "one replica in one process: the baseline, and the oracle of the others",
          .records_steps = true,
          .lets_gradients_pass = true,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            ensure(context.communicator.world_size() == 1, "serial has a world of one");
            return std::make_unique<Serial>(context.take_replica());
          }};
}

}  // namespace ptbench
