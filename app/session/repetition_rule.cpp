#include "app/session/repetition_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"

namespace ptbench {
namespace {

constexpr Size kUsualRepeats = 5;
constexpr double kUsualNoise = 0.01;

}  // namespace

RepetitionRule::RepetitionRule(const RunOptions& options)
    : least_(options.repeats.value_or(kUsualRepeats)),
      exact_(options.repeats && !options.target_noise),
      target_noise_(options.target_noise.value_or(kUsualNoise)),
      least_seconds_(options.min_time_seconds),
      most_seconds_(options.max_time_seconds) {}

double RepetitionRule::repetition_seconds() const {
  return most_seconds_ / static_cast<double>(least_);
}

double RepetitionRule::least_seconds() const {
  return least_seconds_ / static_cast<double>(least_);
}

std::string RepetitionRule::label(Size done) const {
  return done < least_ ? fmt::format("repetition {} of {}", done + 1, least_)
                       : fmt::format("repetition {}", done + 1);
}

double RepetitionRule::share(Size done, double elapsed_seconds) const {
  // After the promised ones there may be more, up to --max-time: progress never goes back.
  const auto most = static_cast<double>(done < least_ ? least_ : least_ + 1);
  const double by_count = static_cast<double>(std::min(done, least_)) / most;
  return std::max(by_count, std::min(1.0, elapsed_seconds / most_seconds_));
}

bool RepetitionRule::wants_more(Size done, bool precise) const {
  return done < least_ || (!exact_ && !precise);
}

bool RepetitionRule::has_time(Size done, double elapsed_seconds) const {
  const double usual = elapsed_seconds / static_cast<double>(done);
  // The first one times the phases besides, and a session makes those that were promised shorter.
  const double expected = done < least_ ? usual / 3 : usual;
  return elapsed_seconds + expected <= most_seconds_;
}

bool RepetitionRule::wants_another(Size done, bool precise, double elapsed_seconds) const {
  return wants_more(done, precise) && has_time(done, elapsed_seconds);
}

std::optional<StopReason> RepetitionRule::stop_reason(Size done, bool precise) const {
  if (precise) return StopReason::noise;
  if (wants_more(done, precise)) return StopReason::max_time;
  return std::nullopt;
}

bool is_one_process(const RunOptions& options) {
  return options.steps || options.epochs || (options.repeats == 1 && !options.target_noise) ||
         options.verify == VerifyMode::only || options.orders.pass != RunPass::all;
}

void require_possible_repeats(const RunOptions& options) {
  if (!options.steps && !options.epochs) return;
  const char* length = options.steps ? "--steps" : "--epochs";
  if (options.repeats.value_or(1) > 1)
    throw usage_error(
        fmt::format("--repeats {} with {}: a run of fixed length is measured in one process",
                    *options.repeats, length),
        "leave one of them out; --max-time limits how long repetitions take");
  if (options.target_noise)
    throw usage_error(
        fmt::format("--target-noise with {}: a run of fixed length ends after that", length),
        "leave one of them out");
}

}  // namespace ptbench
