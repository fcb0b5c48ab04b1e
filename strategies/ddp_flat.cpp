#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "strategies/ddp.h"
#include "strategies/distributed.h"

namespace ptbench {
namespace {

class DdpFlat final : public Distributed {
 public:
  explicit DdpFlat(StrategyContext context)
      : Distributed(std::move(context)), all_(replica().all()) {}

 private:
  void on_gradients(Range /*slice*/, Program::ReadyMark /*ready*/) override {}
  void on_backward_end() override {
    const Values all = gradients(all_);
    const PhaseScope scope(timer(), StepPhase::communication, all.bytes.size());
    ticket_ = communicator().start_all_reduce(all, reduction(), after_given());
  }

  void order_reduction() override { order(ticket_); }
  [[nodiscard]] std::span<const Range> reduced_slices() override { return {&all_, 1}; }

  std::optional<Communicator::Ticket> update(Size step) override {
    order(ticket_);
    replica().optimizer_step(all_, step);
    return ticket_;
  }

  Range all_;
  Communicator::Ticket ticket_{};
};

}  // namespace

StrategyRow ddp_flat_strategy() {
  return {.name = "ddp-flat",
          .summary = "one replica a rank, one all-reduce of all gradients after backward",
          .several_ranks = true,
          .records_steps = true,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<DdpFlat>(std::move(context));
          }};
}

}  // namespace ptbench
