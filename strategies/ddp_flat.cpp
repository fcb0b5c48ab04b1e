#include "strategies/ddp.h"
#include "strategies/distributed.h"

namespace ptbench {
namespace {

class DdpFlat final : public Distributed {
 public:
  explicit DdpFlat(StrategyContext context) : Distributed(std::move(context)) {}

 private:
  float compute_gradients() override {
    const float loss = replica().compute_gradients([](Range) {});
    const std::span<float> all = gradients(replica().all());
    const PhaseScope scope(timer(), StepPhase::communication, all.size_bytes());
    ticket_ = communicator().start_all_reduce(all, reduction());
    return loss;
  }

  void finish_reduction() override { wait(ticket_); }
  bool gradients_finite() override { return replica().gradients_finite(); }

  void update(Size step) override {
    wait(ticket_);
    replica().optimizer_step(replica().all(), step);
  }

  Communicator::Ticket ticket_{};
};

}  // namespace

StrategyRow ddp_flat_strategy() {
  return {.name = "ddp-flat",
          .summary = "one replica a rank, one all-reduce of all gradients after backward",
          .several_ranks = true,
          .buckets = false,
          .accumulation_steps = 1,
          .mixed_precision = false,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<DdpFlat>(std::move(context));
          }};
}

}  // namespace ptbench
