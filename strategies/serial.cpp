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
    if (replica_->updates_slice_by_slice())
      step_slice_by_slice();
    else
      scaled_step();
  }
  float read_loss() override { return replica_->read_loss(); }

  /// Backward is done with an operator's parameters once it has announced their gradients, so the
  /// update can follow at once, while they are still in the caches of those who computed them.
  void step_slice_by_slice() {
    const auto update = [this](Range slice, const Event&) {
      replica_->optimizer_step(slice, next_update());
    };
    if (records_ && !is_observed() && replica_->has_recorded_steps()) {
      replica_->replay_step(next_update());
    } else {
      replica_->compute_gradients(update);
      if (records_ && !is_observed()) replica_->record_steps(update);
    }
    count_update();
  }

  void scaled_step() {
    replica_->compute_gradients([](Range, const Event&) {});
    if (replica_->scaled_optimizer_step(next_update())) count_update();
  }

  std::unique_ptr<Replica> replica_;
  bool records_ = false;
};

}  // namespace

StrategyRow serial_strategy() {
  return {.name = "serial",
          .summary = "one replica in one process: the baseline, and the oracle of the others",
          .several_ranks = false,
          .buckets = false,
          .accumulation_steps = 1,
          .mixed_precision = false,
          .records_steps = true,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            ensure(context.communicator.world_size() == 1, "serial has a world of one");
            return std::make_unique<Serial>(context.take_replica());
          }};
}

}  // namespace ptbench
