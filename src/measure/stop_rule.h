#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// What a stop rule may look at, after each sample.
struct Evidence {
  std::span<const double> step_seconds;  ///< of the samples so far
  Size steps = 0;                        ///< measured so far
  double elapsed_seconds = 0;            ///< since warm-up began
  std::span<const SliceRecord> slices;   ///< that have ended
  double measured_seconds = 0;           ///< that the samples lasted
};

/// How long measuring can last at most, whatever the samples say.
struct Limits {
  static constexpr Size kUnlimited = std::numeric_limits<Size>::max();

  Size steps = kUnlimited;  ///< no sample goes past it: the last one is shorter instead
  Size samples = kUnlimited;
  double seconds = std::numeric_limits<double>::infinity();  ///< since warm-up began
};

/// Decides when enough was measured. Rules are asked between samples, never within one.
class StopRule {
 public:
  virtual ~StopRule() = default;
  /// Called after each sample; allocates nothing. Once it has said yes, it is not asked again.
  [[nodiscard]] virtual bool should_stop(const Evidence& evidence) = 0;
  /// Why it said yes.
  [[nodiscard]] virtual StopReason reason() const = 0;
  /// Known before the first step: memory is reserved and the time left is told by it.
  [[nodiscard]] virtual Limits limits() const = 0;
};

/// Exactly so many optimizer steps.
class FixedSteps final : public StopRule {
 public:
  /// `reason`: steps or epochs, whichever the user gave.
  explicit FixedSteps(Size steps, StopReason reason = StopReason::steps)
      : steps_(steps), reason_(reason) {}

  [[nodiscard]] bool should_stop(const Evidence& evidence) override {
    return evidence.steps >= steps_;
  }
  [[nodiscard]] StopReason reason() const override { return reason_; }
  [[nodiscard]] Limits limits() const override { return {.steps = steps_}; }

 private:
  Size steps_;
  StopReason reason_;
};

/// Enough for one repetition: so many clean slices of one placement, and so many seconds.
class CleanSlices final : public StopRule {
 public:
  CleanSlices(Size slices, double least_seconds) : slices_(slices), least_seconds_(least_seconds) {}

  [[nodiscard]] bool should_stop(const Evidence& evidence) override;
  [[nodiscard]] StopReason reason() const override { return StopReason::noise; }
  [[nodiscard]] Limits limits() const override { return {}; }

 private:
  Size slices_;
  double least_seconds_;
};

/// A fixed number of samples.
class FixedSamples final : public StopRule {
 public:
  explicit FixedSamples(Size samples) : samples_(samples) {}

  [[nodiscard]] bool should_stop(const Evidence& evidence) override {
    return std::ssize(evidence.step_seconds) >= samples_;
  }
  [[nodiscard]] StopReason reason() const override { return StopReason::steps; }
  [[nodiscard]] Limits limits() const override { return {.samples = samples_}; }

 private:
  Size samples_;
};

/// Another rule, or the end of the time, whichever comes first. One sample is measured in any case.
class TimeLimit final : public StopRule {
 public:
  TimeLimit(std::unique_ptr<StopRule> inner, double seconds)
      : inner_(std::move(inner)), seconds_(seconds) {}

  [[nodiscard]] bool should_stop(const Evidence& evidence) override {
    inner_stopped_ = inner_->should_stop(evidence);
    return inner_stopped_ || evidence.elapsed_seconds >= seconds_;
  }
  [[nodiscard]] StopReason reason() const override {
    return inner_stopped_ ? inner_->reason() : StopReason::max_time;
  }
  [[nodiscard]] Limits limits() const override {
    Limits limits = inner_->limits();
    limits.seconds = std::min(limits.seconds, seconds_);
    return limits;
  }

 private:
  std::unique_ptr<StopRule> inner_;
  double seconds_;
  bool inner_stopped_ = false;
};

/// Another rule, which outlives this one, or as soon as training has reached its target.
class UntilReached final : public StopRule {
 public:
  /// `reached` is set by the code that watches the training, and outlives the rule.
  UntilReached(StopRule& inner, const bool& reached) : inner_(&inner), reached_(&reached) {}

  [[nodiscard]] bool should_stop(const Evidence& evidence) override {
    return *reached_ || inner_->should_stop(evidence);
  }
  [[nodiscard]] StopReason reason() const override {
    return *reached_ ? StopReason::target : inner_->reason();
  }
  [[nodiscard]] Limits limits() const override { return inner_->limits(); }

 private:
  StopRule* inner_;
  const bool* reached_;
};

}  // namespace ptbench
