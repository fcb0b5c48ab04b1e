#include "src/measure/sampling.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"
#include "src/measure/span_loads.h"

namespace ptbench {
namespace {

constexpr Size kWarmupSteps = 30;
constexpr double kWarmupSeconds = 0.3;
constexpr Size kWarmupStepsWhenSlow = 2;
constexpr double kSlowStepSeconds = 0.1;

// Whether steps still become faster.
constexpr double kWindowSeconds = 0.1;
constexpr double kSteadyShare = 0.99;
constexpr double kLongestWarmupSeconds = 1.5;

/// Half an hour of slices; beyond it the vector grows between slices.
constexpr std::size_t kReservedSlices = 4096;

constexpr Size kMostStepsPerSample = 1'000'000;
/// 32 MiB of samples, over an hour of the shortest ones; beyond it the vector grows between
/// samples.
constexpr Size kMostReservedSamples = 4 << 20;

/// Steps of `step_seconds` that fill `seconds`.
Size steps_within(double seconds, double step_seconds) {
  constexpr double kLeastStepSeconds = 1e-9;
  const double steps = std::ceil(seconds / std::max(step_seconds, kLeastStepSeconds));
  return static_cast<Size>(std::clamp(steps, 1.0, static_cast<double>(kMostStepsPerSample)));
}

/// One call of measure(), in named steps.
class Measurement {
 public:
  Measurement(FunctionRef<void()> step, const SamplingConfig& config, StopRule& rule,
              const Clock& clock, FunctionRef<bool()> interrupted,
              FunctionRef<void(const SamplingProgress&)> progress, FunctionRef<void()> finish)
      : step_(step),
        config_(config),
        rule_(rule),
        limits_(rule.limits()),
        clock_(clock),
        interrupted_(interrupted),
        progress_(progress),
        finish_(finish),
        begin_(clock.now()) {}

  Samples run() {
    try {
      warm_up();
      if (!samples_.interrupted)
        config_.turns == nullptr ? sample_until_stopped() : sample_in_turns();
    } catch (const NoMoreSteps&) {
      if (in_slice_) end_slice(config_.slice_seconds);
      (void)stop_if_interrupted();
    }
    loads_.finish(samples_.slices);
    samples_.elapsed_seconds = elapsed();
    return std::move(samples_);
  }

 private:
  void warm_up() {
    double last = 0;
    while (!is_warm(last)) {
      if (stop_if_interrupted()) return;
      const double begin = clock_.now();
      step_();
      finish_();
      last = clock_.now() - begin;
      fastest_step_ = std::min(fastest_step_, last);
      ++samples_.warmup_discarded;
      watch_pace(last);
      report(true, samples_.warmup_discarded, last, elapsed());
    }
    samples_.warmup_was_cut = !config_.warmup_steps && !has_settled(last);
  }

  /// Compares the mean of each window of steps with that of the one before.
  void watch_pace(double step_seconds) {
    window_seconds_ += step_seconds;
    ++window_steps_;
    if (window_seconds_ < kWindowSeconds) return;
    const double mean = window_seconds_ / static_cast<double>(window_steps_);
    steady_ = mean >= kSteadyShare * previous_window_mean_;
    previous_window_mean_ = mean;
    window_seconds_ = 0;
    window_steps_ = 0;
  }

  bool is_warm(double last_step_seconds) const {
    const Size done = samples_.warmup_discarded;
    if (config_.warmup_steps) return done >= *config_.warmup_steps;
    const bool time_is_over = elapsed() >= config_.warmup_limit_seconds;
    return has_settled(last_step_seconds) || (time_is_over && done >= kWarmupStepsWhenSlow);
  }

  /// What an automatic warm-up waits for, or has waited for long enough.
  bool has_settled(double last_step_seconds) const {
    const Size done = samples_.warmup_discarded;
    if (done >= kWarmupStepsWhenSlow && last_step_seconds > kSlowStepSeconds) return true;
    const double seconds = elapsed();
    return done >= kWarmupSteps && seconds >= kWarmupSeconds &&
           (steady_ || seconds >= kLongestWarmupSeconds);
  }

  void sample_until_stopped() {
    prepare_samples();
    while (!samples_.stop_reason && !stop_if_interrupted()) {
      if (!in_slice_) begin_slice();
      sample();
      if (slice_seconds_ >= config_.slice_seconds) end_slice(config_.slice_seconds);
      if (rule_.should_stop({.step_seconds = samples_.step_seconds,
                             .steps = samples_.steps,
                             .elapsed_seconds = elapsed(),
                             .slices = samples_.slices,
                             .measured_seconds = measured_seconds_}))
        samples_.stop_reason = rule_.reason();
    }
    if (in_slice_) end_slice(config_.slice_seconds);
  }

  void sample_in_turns() {
    prepare_samples();
    while (!stop_if_interrupted()) {
      const std::optional<Turn> turn = config_.turns->next();
      if (!turn) break;
      settle();
      take_turn(*turn);
    }
    (void)stop_if_interrupted();
  }

  /// The first step of a turn, and what begins within kSettleSeconds.
  void settle() {
    const double begin = clock_.now();
    do {
      step_();
      finish_();
      ++samples_.warmup_discarded;
    } while (clock_.now() - begin < kSettleSeconds);
  }

  void take_turn(const Turn& turn) {
    const Size steps_before = samples_.steps;
    begin_slice();
    do {
      sample();
    } while ((slice_seconds_ < turn.seconds || samples_.steps - steps_before < turn.steps) &&
             !stop_if_interrupted());
    end_slice(turn.seconds);
    samples_.slices.back().turn = turn.number;
    config_.turns->end({.steps = samples_.steps - steps_before, .seconds = slice_seconds_});
  }

  void prepare_samples() {
    choose_steps_per_sample();
    samples_.step_seconds.reserve(static_cast<std::size_t>(most_samples()));
    samples_.slices.reserve(kReservedSlices);
  }

  void sample() {
    const double seconds = take_sample();
    slice_seconds_ += seconds;
    measured_seconds_ += seconds;
    if (config_.probe != nullptr) config_.probe->glance();
    report(false, samples_.steps, samples_.step_seconds.back(), measured_seconds_);
  }

  void begin_slice() {
    in_slice_ = true;
    slice_seconds_ = 0;
    slice_has_gap_ = false;
    first_of_slice_ = std::ssize(samples_.step_seconds);
    if (config_.probe != nullptr) config_.probe->begin();
  }

  /// `whole_seconds`: what a slice that is not cut off lasts.
  void end_slice(double whole_seconds) {
    in_slice_ = false;
    SliceRecord slice;
    slice.first = first_of_slice_;
    slice.count = std::ssize(samples_.step_seconds) - first_of_slice_;
    slice.clean = true;
    std::optional<CpuTimes> window;
    bool device_unwatched = false;
    if (config_.probe != nullptr) {  // without one, a slice is clean
      SliceConditions conditions = config_.probe->end();
      if (config_.turns != nullptr) window = take_window(conditions);
      device_unwatched = conditions.device_unwatched;
      classify(slice, conditions);
      if (slice_seconds_ < kLeastSliceShare * whole_seconds) slice.clean = false;
    }
    if (slice_has_gap_) slice.clean = false;
    if (slice.count == 0) return;
    samples_.slices.push_back(std::move(slice));
    if (window) loads_.add(*window, device_unwatched, samples_.slices);
  }

  /// In a turn, the driver counts of others what those in lockstep do in theirs. What the kernel
  /// counts of a turn too short for it is told of a span: returns that window.
  static std::optional<CpuTimes> take_window(SliceConditions& conditions) {
    conditions.device_foreign_fraction.reset();
    if (!conditions.cpu_times || tells_load(*conditions.cpu_times)) return std::nullopt;
    conditions.foreign_cpu_fraction.reset();
    conditions.steal_fraction.reset();
    return conditions.cpu_times;
  }

  /// The fastest step of the warm-up counts, with a margin: a sample that turns out too short has
  /// to be prolonged, one that is a little longer costs nothing.
  void choose_steps_per_sample() {
    constexpr double kMargin = 1.1;
    if (fastest_step_ < config_.sample_seconds)
      samples_.steps_per_sample =
          std::min(limits_.steps, steps_within(kMargin * config_.sample_seconds, fastest_step_));
  }

  Size most_samples() const {
    const Size by_steps = limits_.steps / samples_.steps_per_sample;  // one more for the remainder
    const double by_time = std::min(limits_.seconds / config_.sample_seconds,
                                    static_cast<double>(kMostReservedSamples));
    return 1 + std::min({by_steps, limits_.samples, static_cast<Size>(by_time)});
  }

  /// As many steps as were chosen; more, should they last less than a sample has to (there was no
  /// warm-up to choose by, or the machine has become faster).
  /// Returns its duration in seconds.
  double take_sample() {
    Size steps = 0;
    Size more = samples_.steps_per_sample;
    double seconds = 0;
    const double begin = clock_.now();
    do {
      more = std::min(more, limits_.steps - samples_.steps - steps);
      for (Size i = 0; i < more; ++i) step_();
      finish_();
      steps += more;
      seconds = clock_.now() - begin;
      more = steps_within(config_.sample_seconds - seconds, seconds / static_cast<double>(steps));
    } while (seconds < config_.sample_seconds && steps < kMostStepsPerSample &&
             samples_.steps + steps < limits_.steps);
    watch_gap(seconds, static_cast<double>(steps));
    samples_.steps_per_sample = std::max(samples_.steps_per_sample, steps);
    samples_.steps += steps;
    samples_.step_seconds.push_back(seconds / static_cast<double>(steps));
    return seconds;
  }

  /// Beside the fastest step so far, which no noise made faster than it is.
  void watch_gap(double seconds, double steps) {
    const double usual = fastest_step_ * steps;
    fastest_step_ = std::min(fastest_step_, seconds / steps);
    const double gap = seconds - usual;
    if (!(gap > std::max(kLeastGapSeconds, kLeastGapFactor * usual))) return;  // infinite at first
    ++samples_.standstill.count;
    samples_.standstill.seconds += gap;
    slice_has_gap_ = true;
  }

  bool stop_if_interrupted() {
    samples_.interrupted = interrupted_();
    return samples_.interrupted;
  }

  void report(bool warming_up, Size steps, double step_seconds, double phase_seconds) {
    const double mean_step = phase_seconds / static_cast<double>(steps);
    progress_({.warming_up = warming_up,
               .steps = steps,
               .step_seconds = step_seconds,
               .elapsed_seconds = elapsed(),
               .seconds_left = seconds_left(mean_step)});
  }

  /// By the limits alone: a rule that stops for another reason does so earlier.
  std::optional<double> seconds_left(double mean_step) const {
    double left = std::numeric_limits<double>::infinity();
    if (limits_.steps != Limits::kUnlimited)
      left = static_cast<double>(limits_.steps - samples_.steps) * mean_step;
    if (limits_.samples != Limits::kUnlimited) {
      const Size samples = limits_.samples - std::ssize(samples_.step_seconds);
      left = std::min(left,
                      static_cast<double>(samples) * std::max(mean_step, config_.sample_seconds));
    }
    if (config_.warmup_steps)
      left += static_cast<double>(*config_.warmup_steps - samples_.warmup_discarded) * mean_step;
    left = std::min(left, std::max(0.0, limits_.seconds - elapsed()));
    return std::isfinite(left) ? std::optional(left) : std::nullopt;
  }

  double elapsed() const { return clock_.now() - begin_; }

  FunctionRef<void()> step_;
  const SamplingConfig& config_;
  StopRule& rule_;
  Limits limits_;
  const Clock& clock_;
  FunctionRef<bool()> interrupted_;
  FunctionRef<void(const SamplingProgress&)> progress_;
  FunctionRef<void()> finish_;
  double begin_;
  double fastest_step_ = std::numeric_limits<double>::infinity();
  double window_seconds_ = 0;
  Size window_steps_ = 0;
  double previous_window_mean_ = std::numeric_limits<double>::infinity();
  bool steady_ = false;
  bool in_slice_ = false;
  bool slice_has_gap_ = false;
  Size first_of_slice_ = 0;
  double slice_seconds_ = 0;     ///< that this slice's samples lasted
  double measured_seconds_ = 0;  ///< that all samples lasted
  SpanLoads loads_;              ///< of turns
  Samples samples_;
};

}  // namespace

Samples measure(FunctionRef<void()> step, const SamplingConfig& config, StopRule& rule,
                const Clock& clock, FunctionRef<bool()> interrupted,
                FunctionRef<void(const SamplingProgress&)> progress, FunctionRef<void()> finish) {
  ensure(rule.limits().steps > 0 && rule.limits().samples > 0, "a stop rule that measures nothing");
  return Measurement(step, config, rule, clock, interrupted, progress, finish).run();
}

}  // namespace ptbench
