#include "app/training/training_target.h"

#include <utility>

#include "strategies/evaluate.h"

namespace ptbench {

TrainingTarget::TrainingTarget(const RunOptions& options, const DataSource& data,
                               Size steps_per_epoch, const Clock& clock,
                               std::function<bool()> keep_going)
    : options_(&options),
      data_(&data),
      steps_per_epoch_(steps_per_epoch),
      clock_(&clock),
      keep_going_(std::move(keep_going)),
      begin_(clock.now()) {}

void TrainingTarget::step(float loss) {
  if (!asked(*options_)) return;
  loss_sum_ += static_cast<double>(loss);
  if (++steps_ % steps_per_epoch_ != 0) return;
  epoch_loss_ = loss_sum_ / static_cast<double>(steps_per_epoch_);
  loss_sum_ = 0;
}

void TrainingTarget::look(Program& program) {
  if (!epoch_loss_ || reached_) return;
  const double before = clock_->now();
  reached_ = good_enough(program);
  epoch_loss_.reset();
  if (reached_) seconds_ = before - begin_ - looking_seconds_;
  looking_seconds_ += clock_->now() - before;
}

bool TrainingTarget::good_enough(Program& program) const {
  if (options_->target_loss) return *epoch_loss_ <= *options_->target_loss;
  const Dataset& dataset = data_->test.size() > 0 ? data_->test : data_->train;
  const std::optional<double> reached = accuracy(program, dataset, keep_going_);
  return reached && *reached >= *options_->target_accuracy;
}

}  // namespace ptbench
