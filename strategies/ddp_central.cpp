#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strategies/ddp.h"
#include "strategies/distributed.h"

namespace ptbench {
namespace {

class DdpCentral final : public Distributed {
 public:
  explicit DdpCentral(StrategyContext context) : Distributed(std::move(context)) {
    if (communicator().rank() == kRoot) own_.push_back(replica().all());
  }

  [[nodiscard]] std::vector<Range> updated_slices() override { return own_; }

 private:
  void on_gradients(Range /*slice*/, Program::ReadyMark /*ready*/) override {}
  void on_backward_end() override {
    const Values all = gradients(replica().all());
    const PhaseScope scope(timer(), StepPhase::communication, all.bytes.size());
    Reduction sum = reduction();
    sum.at_root = true;
    ticket_ = communicator().start_reduce(all, kRoot, sum, after_given());
  }

  void order_reduction() override { order(ticket_); }
  /// Other ranks keep their own gradients, which nobody uses.
  [[nodiscard]] std::span<const Range> reduced_slices() override { return own_; }

  std::optional<Communicator::Ticket> update(Size step) override {
    order(ticket_);
    for (const Range& slice : own_) replica().optimizer_step(slice, step);
    const std::span<std::byte> all = parameters(replica().all()).bytes;
    const PhaseScope scope(timer(), StepPhase::communication, all.size());
    return communicator().start_broadcast(all, kRoot, after_given());
  }

  std::vector<Range> own_;  ///< what this rank updates: all, or nothing
  Communicator::Ticket ticket_{};
};

}  // namespace

StrategyRow ddp_central_strategy() {
  return {.name = "ddp-central",
          .summary = "one replica a rank, gradients summed on rank 0, which updates for all",
          .several_ranks = true,
          .records_steps = true,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<DdpCentral>(std::move(context));
          }};
}

}  // namespace ptbench
