#include <utility>

#include "tests/extension/extensions.h"

namespace ptbench::testing {
namespace {

class Patient final : public Strategy {
 public:
  explicit Patient(std::unique_ptr<Replica> replica) : replica_(std::move(replica)) {}
  [[nodiscard]] Replica& replica() override { return *replica_; }

 private:
  void take_step() override {
    replica_->compute_gradients([](Range, Program::ReadyMark) {});
    replica_->optimizer_step(replica_->all(), next_update());
    count_update();
  }
  float read_loss() override { return replica_->read_loss(); }

  std::unique_ptr<Replica> replica_;
};

}  // namespace

StrategyRow patient_strategy() {
  return {.name = "patient",
          .summary = "updates once all gradients are there",
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<Patient>(std::move(context.replicas.front()));
          }};
}

}  // namespace ptbench::testing
