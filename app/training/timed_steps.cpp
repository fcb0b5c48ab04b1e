#include "app/training/timed_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/rough_duration.h"
#include "src/base/units.h"
#include "src/device/quiet.h"
#include "src/measure/noise_warnings.h"
#include "strategies/evaluate.h"

namespace ptbench {
namespace {

constexpr double kFirstSteps = 1;  // seconds

std::string counted(Size count, std::string_view what) {
  return fmt::format("{} {}{}", format_count(count), what, count == 1 ? "" : "s");
}

/// "20 epochs, about 2 minutes"; a run with a target may end earlier.
std::string length_text(const RunOptions& options, double seconds) {
  const std::string length = options.epochs  ? counted(*options.epochs, "epoch") + ", "
                             : options.steps ? counted(*options.steps, "step") + ", "
                                             : "measuring for ";
  return length + (TrainingTarget::asked(options) ? "up to " : "about ") + rough_duration(seconds);
}

constexpr double kPieceSeconds = 0.01;

}  // namespace

TimedSteps::TimedSteps(const RunConfig& config, const RunSurroundings& around, RunProgress& watch,
                       RunRecord& record)
    : config_(config),
      options_(config.options),
      around_(around),
      watch_(watch),
      record_(record),
      whole_(around.clock, {.progress_is_seen = around.progress.visible()}) {}

Samples TimedSteps::measure(Strategy& strategy, StepDrag& drag, const DataSource& data,
                            Size steps_per_epoch, MachineProbe& probe, Conductor& conductor) {
  MeasuringPlan measuring = plan(steps_per_epoch);
  measuring.config.probe = &probe;
  std::optional<TurnClient> granted = turns(strategy, conductor);
  if (granted) measuring.config.turns = &*granted;
  TrainingTarget target(options_, data, steps_per_epoch, around_.clock, watch_.keep_going());
  UntilReached rule(*measuring.rule, target.reached());
  const double started = unix_seconds();
  const bool reads_every_loss = must_read_every_loss(strategy);
  Samples samples = ptbench::measure(
      [&] {
        strategy.start_step();
        if (reads_every_loss || strategy.steps() == 1) target.step(read_loss(strategy));
      },
      measuring.config, rule, around_.clock, [this] { return watch_.is_interrupted(); },
      [&](const SamplingProgress& progress) {
        show(progress);
        if (progress.warming_up) drag.count_anew();
        target.look(strategy.replica().program());
      },
      [&] {
        if (!reads_every_loss) (void)read_loss(strategy);
      });
  samples.started_unix_seconds = started;
  add_standstill_warning(record_, samples.standstill);
  add_warmup_warning(record_, samples);
  record_.samples.slowdown_realized = drag.realized();
  record_.time_to_target_seconds = target.seconds();
  if (target.missed() && !samples.interrupted) warn_of_missed_target();
  return samples;
}

MeasuringPlan TimedSteps::plan(Size steps_per_epoch) const {
  RunLength length{.steps = options_.steps,
                   .epoch_steps = std::nullopt,
                   .warmup = options_.warmup,
                   .min_time_seconds = options_.min_time_seconds,
                   .max_time_seconds = options_.max_time_seconds};
  if (options_.epochs) length.epoch_steps = *options_.epochs * steps_per_epoch;
  MeasuringPlan measuring = plan_measuring(length);
  // So that no epoch ends within a sample, and no time decides how many steps there are.
  if (TrainingTarget::asked(options_) || config_.device.is_emulated)
    measuring.config.sample_seconds = 0;
  return measuring;
}

/// For a run in lockstep with others; empty where steps follow each other.
std::optional<TurnClient> TimedSteps::turns(Strategy& strategy, Conductor& conductor) {
  if (!options_.orders.turns) return std::nullopt;
  return TurnClient({.name = *options_.orders.turns,
                     .interrupted = [this] { return watch_.is_interrupted(); },
                     .rest =
                         [this, &strategy, &conductor] {
                           conductor.rest();
                           come_to_rest(strategy.replica().device());
                           watch_.enter_unseen(RankPhase::resting);
                         },
                     .wake = [this] { watch_.enter_unseen(RankPhase::measuring); }});
}

/// Where the device works later than it is asked to, reading a loss makes it wait.
bool TimedSteps::must_read_every_loss(Strategy& strategy) const {
  return strategy.replica().queue().is_immediate() || around_.files.loss_log() != nullptr ||
         TrainingTarget::asked(options_);
}

float TimedSteps::read_loss(Strategy& strategy) {
  const float loss = strategy.finish_step();
  if (LossLog* log = around_.files.loss_log()) log->append(loss);
  const LossScaler& scaler = strategy.replica().scaler();
  if (!std::isfinite(loss) && !scaler.active()) {
    record_.warnings.push_back({.code = "non-finite-loss",
                                .message = "training diverged",
                                .remedy = "Choose a smaller --lr."});
    throw run_error(fmt::format("the loss of step {} is {}", strategy.steps(), loss),
                    "choose a smaller --lr");
  }
  if (strategy.steps() == 1) record_.loss.first = loss;
  record_.loss.last = loss;
  return loss;
}

void TimedSteps::show(const SamplingProgress& progress) {
  const RankPhase phase = progress.warming_up ? RankPhase::warming_up : RankPhase::measuring;
  if (watch_.phase() != phase) {
    watch_.enter_unseen(phase);
    around_.progress.begin(name_of(phase));
    pace_.clear();
  }
  const bool is_first = progress.warming_up && progress.steps == 1;  // far slower than any other
  if (around_.progress.visible() && !is_first) pace_.add(progress.steps, progress.step_seconds);
  if (progress.seconds_left) {
    const double all = progress.elapsed_seconds + *progress.seconds_left;
    tell_length(progress.elapsed_seconds, all);
    if (all > 0 && around_.progress.due())
      around_.progress.update(progress.elapsed_seconds / all, throughput_so_far());
  }
  if (LossLog* log = around_.files.loss_log()) log->flush();
}

/// Where no other process does: of a run whose steps are all made here. Before a second is over,
/// the first steps tell too little of the rest. `all`: seconds, of which so many have elapsed.
void TimedSteps::tell_length(double elapsed, double all) {
  if (options_.orders.pass != RunPass::all || config_.device.is_emulated) return;
  if (!whole_.has_begun()) {
    if (elapsed < kFirstSteps) return;
    around_.progress.clear();
    whole_.begin(length_text(options_, all), all);
  }
  whole_.reach(elapsed / all, std::string(name_of(watch_.phase())));
}

/// "21.3 k samples/s" of this phase, for people. In later repetitions the session says what those
/// before have measured.
std::string TimedSteps::throughput_so_far() const {
  const auto seconds = pace_.step_seconds();
  if (options_.orders.pass == RunPass::next || !seconds || *seconds <= 0) return {};
  if (config_.device.is_emulated) return {};
  const auto samples = static_cast<double>(record_.strategy.global_batch.value_or(0));
  return fmt::format("{} samples/s", format_si(samples / *seconds));
}

void TimedSteps::warn_of_missed_target() {
  record_.warnings.push_back({.code = "target-not-reached",
                              .message = "training ended before it reached its target",
                              .remedy = "Train for more --epochs, or ask for less."});
}

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

void StepPace::add(Size steps, double step_seconds) {
  const Size done = steps - std::exchange(steps_, steps);
  steps_of_piece_ += done;
  piece_seconds_ += static_cast<double>(done) * step_seconds;
  if (piece_seconds_ < kPieceSeconds) return;
  keep(piece_seconds_ / static_cast<double>(steps_of_piece_));
  steps_of_piece_ = 0;
  piece_seconds_ = 0;
}

void StepPace::keep(double value) {
  if (until_next_ > 0) {
    --until_next_;
    return;
  }
  if (count_ == kept_.size()) {  // every second one stays
    count_ /= 2;
    for (std::size_t index = 0; index < count_; ++index) kept_.at(index) = kept_.at(2 * index);
    stride_ *= 2;
  }
  kept_.at(count_++) = value;
  until_next_ = stride_ - 1;
}

std::optional<double> StepPace::step_seconds() const {
  if (count_ == 0) return std::nullopt;
  auto sorted = kept_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count_));
  return *middle;
}

}  // namespace ptbench
