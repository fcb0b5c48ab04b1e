#include "strategies/serial.h"

#include "src/base/error.h"

namespace ptbench {
namespace {

class Serial final : public Strategy {
 public:
  explicit Serial(std::unique_ptr<Replica> replica) : replica_(std::move(replica)) {}

  float step() override {
    replica_->load();
    const float loss = replica_->forward();
    ++steps_;
    // Backward is done with an operator's parameters once it has announced their gradients, so the
    // update can follow at once, while they are still in the caches of those who computed them.
    replica_->backward([this](Range slice) { replica_->optimizer_step(slice, steps_); });
    return loss;
  }

  [[nodiscard]] Size steps() const override { return steps_; }
  [[nodiscard]] Replica& replica() override { return *replica_; }

 private:
  std::unique_ptr<Replica> replica_;
  Size steps_ = 0;
};

}  // namespace

StrategyRow serial_strategy() {
  return {.name = "serial",
          .summary = "one replica in one process: the baseline, and the oracle of the others",
          .several_ranks = false,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            ensure(context.replicas.size() == 1 && context.communicator.world_size() == 1,
                   "serial is one replica in a world of one");
            return std::make_unique<Serial>(std::move(context.replicas.front()));
          }};
}

}  // namespace ptbench
