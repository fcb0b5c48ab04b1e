#include <memory>
#include <vector>

#include "strategies/ddp.h"
#include "strategies/distributed.h"

namespace ptbench {
namespace {

class DdpCentral final : public Distributed {
 public:
  explicit DdpCentral(StrategyContext context) : Distributed(std::move(context)) {}

  [[nodiscard]] std::vector<Range> updated_slices() override {
    return is_root() ? std::vector{replica().all()} : std::vector<Range>{};
  }

 private:
  [[nodiscard]] bool is_root() { return communicator().rank() == kRoot; }

  float compute_gradients() override {
    const float loss = replica().compute_gradients([](Range) {});
    const std::span<float> all = gradients(replica().all());
    const PhaseScope scope(timer(), StepPhase::communication, all.size_bytes());
    Reduction sum = reduction();
    sum.at_root = true;
    ticket_ = communicator().start_reduce(all, kRoot, sum);
    return loss;
  }

  void finish_reduction() override { wait(ticket_); }
  /// Other ranks keep their own gradients, which nobody uses.
  bool gradients_finite() override { return !is_root() || replica().gradients_finite(); }

  void update(Size step) override {
    wait(ticket_);
    if (is_root()) replica().optimizer_step(replica().all(), step);
    const auto all = std::as_writable_bytes(parameters(replica().all()));
    const PhaseScope scope(timer(), StepPhase::communication, all.size());
    (void)communicator().start_broadcast(all, kRoot);
  }

  Communicator::Ticket ticket_{};
};

}  // namespace

StrategyRow ddp_central_strategy() {
  return {.name = "ddp-central",
          .summary = "one replica a rank, gradients summed on rank 0, which updates for all",
          .several_ranks = true,
          .buckets = false,
          .accumulation_steps = 1,
          .mixed_precision = false,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<DdpCentral>(std::move(context));
          }};
}

}  // namespace ptbench
