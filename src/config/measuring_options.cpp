#include <optional>
#include <string>
#include <string_view>

#include "src/base/number.h"
#include "src/config/run_option_rows.h"

namespace ptbench {
namespace {

using Row = OptionRow<RunOptions>;

constexpr std::uint64_t kMostRepeats = 1000;
constexpr double kLeastNoise = 1e-5;

void set_warmup(RunOptions& options, const OptionInfo& option, std::string_view text) {
  if (text == "auto")
    options.warmup.reset();
  else
    options.warmup = static_cast<Size>(whole_value(option, text, 0, kMostSteps));
}

/// A share, as "0.01" or "1%".
void set_target_noise(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::optional<double> number = parse_real(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number.value_or(0) / (percent ? 100 : 1);
  if (share < kLeastNoise || share > 1) refuse_value(option, text);
  options.target_noise = share;
}

/// One repetition, which ends after two clean slices and in any case soon.
void set_quick(RunOptions& options, const OptionInfo& /*option*/, std::string_view /*text*/) {
  options.quick = true;
  options.repeats = 1;
  options.min_time_seconds = 0.5;
  options.max_time_seconds = 1.2;
}

void set_verify(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::string mode = choice_value(option, text);
  options.verify = mode == "on"    ? VerifyMode::on
                   : mode == "off" ? VerifyMode::off
                                   : VerifyMode::only;
}

}  // namespace

void append_length(RunOptionRows& rows) {
  rows.push_back(whole_option({.name = "steps",
                               .value = "N",
                               .group = "How long",
                               .help = "measure exactly N optimizer steps",
                               .example = "200",
                               .excludes = {"epochs"},
                               .scope = OptionScope::length},
                              &RunOptions::steps, 1, kMostSteps));
  rows.push_back(whole_option({.name = "epochs",
                               .value = "E",
                               .help = "train E times over the data, warm-up included",
                               .example = "10",
                               .scope = OptionScope::length},
                              &RunOptions::epochs, 1, 1'000'000'000));
  rows.push_back(Row{{.name = "warmup",
                      .value = "auto|N",
                      .help = "steps that train but are not measured",
                      .fallback = "auto",
                      .domain = "auto or " + whole_domain(0, kMostSteps),
                      .choices = {"auto"},
                      .scope = OptionScope::length},
                     set_warmup});
}

void append_stop_rule(RunOptionRows& rows) {
  rows.push_back(
      Row{{.name = "quick",
           .group = "Precision and time (without --steps and --epochs)",
           .help = "a first look: one process that measures for at most 1.2 s; the record says so",
           .excludes = {"steps", "epochs", "repeats", "target-noise", "min-time", "max-time"},
           .scope = OptionScope::repetitions},
          set_quick});
  rows.push_back(whole_option({.name = "repeats",
                               .value = "K",
                               .help = "measure in exactly K fresh processes; with --target-noise, "
                                       "in at least K",
                               .fallback = "5, more until --target-noise",
                               .example = "5",
                               .scope = OptionScope::repetitions},
                              &RunOptions::repeats, 1, kMostRepeats));
  rows.push_back(Row{{.name = "target-noise",
                      .value = "P",
                      .help = "add processes until half the width of the 95 % interval of the step "
                              "time is at most P of it",
                      .fallback = "1 %",
                      .example = "1%",
                      .domain = "a share from 0.00001 to 1, or from 0.001% to 100%",
                      .scope = OptionScope::repetitions},
                     set_target_noise});
  rows.push_back(real_option({.name = "min-time",
                              .value = "S",
                              .help = "measure for at least S seconds, over all processes",
                              .fallback = "2",
                              .scope = OptionScope::budget},
                             &RunOptions::min_time_seconds, 0, 1e6));
  rows.push_back(real_option({.name = "max-time",
                              .value = "S",
                              .help = "stop measuring after S seconds, over all processes and "
                                      "whatever the other options say",
                              .fallback = "30",
                              .scope = OptionScope::budget},
                             &RunOptions::max_time_seconds, 0.001, 1e6));
}

void append_checks(RunOptionRows& rows) {
  rows.push_back(
      Row{{.name = "verify",
           .value = "on|off|only",
           .group = "Verification and targets",
           .help = "before timing, compare some steps with a reference: of several ranks with one "
                   "replica of the same precision, of one rank with serial fp32 training, of "
                   "PyTorch with ptbench; by default with several ranks, "
                   "accumulation, another precision or PyTorch",
           .fallback = "on where they differ",
           .choices = {"on", "off", "only"}},
          set_verify});
  rows.push_back(real_option({.name = "target-accuracy",
                              .value = "A",
                              .help = "stop after the epoch whose accuracy (test, or train where "
                                      "there is no test data) reaches A; with --epochs",
                              .example = "0.95",
                              .excludes = {"steps", "target-loss"},
                              .scope = OptionScope::length},
                             &RunOptions::target_accuracy, 0, 1));
  rows.push_back(real_option({.name = "target-loss",
                              .value = "L",
                              .help = "stop after the epoch whose mean training loss is at most L; "
                                      "with --epochs",
                              .example = "0.1",
                              .excludes = {"steps"},
                              .scope = OptionScope::length},
                             &RunOptions::target_loss, 0, 1e6));
}

}  // namespace ptbench
