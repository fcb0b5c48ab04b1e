#include "strategies/ddp.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "src/measure/nvtx_ranges.h"
#include "strategies/buckets.h"
#include "strategies/distributed.h"

namespace ptbench {
namespace {

/// The start of a bucket's reduction within backward, for as long as it lives.
class BucketScope {
 public:
  BucketScope(PhaseTimer* timer, Bytes bytes) : timer_(timer) {
    if (timer_ != nullptr) timer_->enter(StepPhase::communication, bytes);
    push_nvtx_bucket(bytes);
  }
  ~BucketScope() {
    pop_nvtx();
    if (timer_ != nullptr) timer_->leave();
  }
  BucketScope(const BucketScope&) = delete;
  BucketScope& operator=(const BucketScope&) = delete;

 private:
  PhaseTimer* timer_;
};

class Ddp final : public Distributed {
 public:
  explicit Ddp(StrategyContext context)
      : Distributed(std::move(context)),
        buckets_(planned_buckets()),
        reductions_(buckets_.size()),
        own_parts_(parts_of_this_rank()),
        beside_(queue_beside_backward()) {
    if (!is_alone()) replica().divide_updates(own_parts_);
    if (beside_ != nullptr) updated_ = beside_->make_event();
  }

  [[nodiscard]] std::vector<Range> updated_slices() override { return own_parts_; }

 private:
  void on_gradients(Range slice, Program::ReadyMark ready) override {
    if (is_alone() && replica().updates_early())
      replica().optimizer_step(slice, next_update());
    else if (options().overlap)
      start_final_buckets(slice.end, ready);
  }

  void on_backward_end() override {
    if (is_alone()) return;
    const Event* const ready = after_given();
    for (; started_ < buckets_.size(); ++started_) {
      const PhaseScope scope(timer(), StepPhase::communication, bytes_of(buckets_[started_]));
      start_reduction(started_, ready);
      if (beside_ != nullptr) update_beside(started_);
    }
    started_ = 0;
  }

  /// Gradients below `end` are final after `ready`.
  void start_final_buckets(Size end, Program::ReadyMark ready) {
    const auto is_final = [&] {
      return started_ < buckets_.size() && buckets_[started_].end <= end;
    };
    if (!is_final()) return;
    const Event& event = ready();
    start_loss(event);
    for (; is_final(); ++started_) {
      const BucketScope scope(timer(), bytes_of(buckets_[started_]));
      start_reduction(started_, &event);
      if (beside_ != nullptr) update_beside(started_);
    }
  }

  /// As soon as the bucket is reduced, whatever backward does, which is done with its parameters:
  /// updates this rank's part and gathers all of it.
  void update_beside(std::size_t bucket) {
    communicator().order(*beside_, reductions_[bucket], options().timeout);
    const Range part = own_part(buckets_[bucket]);
    if (!part.empty()) replica().update_beside(part, next_update());
    beside_->record(*updated_);
    gathered_ = communicator().start_all_gather(parameters(buckets_[bucket]), updated_.get());
  }

  void start_reduction(std::size_t bucket, const Event* ready) {
    reductions_[bucket] =
        communicator().start_reduce_scatter(gradients(buckets_[bucket]), reduction(), ready);
  }

  void order_reduction() override {
    if (!reductions_.empty()) order(reductions_.back());
  }
  [[nodiscard]] std::span<const Range> reduced_slices() override { return own_parts_; }

  /// While this rank updates its part of a bucket, others may still sum theirs of the next.
  std::optional<Communicator::Ticket> update(Size step) override {
    if (beside_ != nullptr) return gathered_;
    std::optional<Communicator::Ticket> last;
    if (is_alone() && !replica().updates_early()) replica().optimizer_step(replica().all(), step);
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      order(reductions_[i]);
      const Range part = own_part(buckets_[i]);
      if (!part.empty()) replica().optimizer_step(part, step);
      const PhaseScope scope(timer(), StepPhase::communication, bytes_of(buckets_[i]));
      last = communicator().start_all_gather(parameters(buckets_[i]), after_given());
    }
    return last;
  }

  /// Without other ranks nothing is reduced, and updates are those of a replica by itself.
  [[nodiscard]] bool is_alone() { return communicator().world_size() == 1; }

  /// For updates while backward goes on; null: they follow it. By what all ranks know, since they
  /// gather buckets in the same order.
  [[nodiscard]] Queue* queue_beside_backward() {
    const bool is_used = !is_alone() && options().overlap && communicator().works_on_device() &&
                         replica().updates_beside();
    return is_used ? replica().device().beside() : nullptr;
  }

  /// None where there are no other ranks.
  [[nodiscard]] std::vector<Range> planned_buckets() {
    if (is_alone()) return {};
    return plan_buckets(replica().all().size(), slices_of_backward(replica().program().plan()),
                        options().first_bucket_bytes, options().bucket_bytes,
                        bucket_parts(communicator()));
  }

  /// What a reduce-scatter leaves on this rank and an all-gather takes from it.
  [[nodiscard]] Range own_part(Range bucket) {
    const Range part = rank_part(bucket.size(), communicator().rank(), communicator().world_size());
    return {bucket.begin + part.begin, bucket.begin + part.end};
  }

  /// The parts of buckets that this rank updates, without empty ones.
  [[nodiscard]] std::vector<Range> parts_of_this_rank() {
    if (is_alone()) return {replica().all()};
    std::vector<Range> parts;
    for (const Range& bucket : buckets_)
      if (const Range part = own_part(bucket); !part.empty()) parts.push_back(part);
    return parts;
  }

  [[nodiscard]] static Bytes bytes_of(Range slice) { return float_bytes(slice.size()); }

  std::vector<Range> buckets_;
  std::vector<Communicator::Ticket> reductions_;  ///< by bucket, of this step
  std::vector<Range> own_parts_;                  ///< of buckets, ascending
  Queue* beside_;                                 ///< that updates beside backward; null: none does
  std::unique_ptr<Event> updated_;                ///< recorded there for each bucket
  std::optional<Communicator::Ticket> gathered_ = std::nullopt;  ///< the last, of these updates
  std::size_t started_ = 0;                                      ///< buckets, in this backward pass
};

}  // namespace

StrategyRow ddp_strategy() {
  return {.name = "ddp",
          .summary = "one replica a rank, gradients reduced in buckets while backward goes on",
          .several_ranks = true,
          .buckets = true,
          .records_steps = true,
          .build = [](StrategyContext context) -> std::unique_ptr<Strategy> {
            return std::make_unique<Ddp>(std::move(context));
          }};
}

}  // namespace ptbench
