#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/number.h"
#include "src/config/run_option_rows.h"
#include "src/publish/catalog.h"
#include "src/ranks/rank_card.h"

namespace ptbench {
namespace {

using Row = OptionRow<RunOptions>;

constexpr std::uint64_t kMostProcessId = 1 << 22;  // Linux's own
constexpr std::uint64_t kMostTracedSteps = 1000;

/// The extension says the format: an unknown one is refused before anything is measured.
void add_output(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::string file = text_value(option, text);
  (void)find_reporter(file);
  options.outputs.push_back(file);
}

/// "COUNT" or "FIRST:COUNT".
void set_trace_steps(RunOptions& options, const OptionInfo& option, std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto part = [&](std::string_view digits, std::uint64_t most) {
    const auto number = parse_whole(digits);
    if (!number || *number < 1 || *number > most) refuse_value(option, text);
    return static_cast<Size>(*number);
  };
  TraceWindow window;
  if (colon != std::string_view::npos) window.first = part(text.substr(0, colon), kMostSteps);
  window.count =
      part(colon == std::string_view::npos ? text : text.substr(colon + 1), kMostTracedSteps);
  options.trace_window = window;
}

void set_pass(ProcessOrders& orders, const OptionInfo& option, std::string_view text) {
  const std::string pass = choice_value(option, text);
  orders.pass = pass == "prepare" ? RunPass::prepare
                : pass == "first" ? RunPass::first
                                  : RunPass::next;
}

}  // namespace

void append_files(RunOptionRows& rows) {
  rows.push_back(
      Row{{.name = "output",
           .short_name = 'o',
           .value = "FILE",
           .group = "Files",
           .help = fmt::format("write the result: {} by extension, - is JSON on standard "
                               "output; may be given several times",
                               extensions_text()),
           .example = "results.json",
           .hint = ValueHint::file,
           .scope = OptionScope::report,
           .repeatable = true},
          add_output});
  rows.push_back(
      flag_option({.name = "json", .help = "the same as --output -", .scope = OptionScope::report},
                  &RunOptions::json));
  struct FileRow {
    const char* name = nullptr;
    const char* value = nullptr;
    const char* help = nullptr;
    std::optional<std::string> RunOptions::* field = nullptr;
    OptionScope scope = OptionScope::training_files;
  };
  const std::array files{
      FileRow{"plan", "FILE",
              "use the operator choices in FILE, which is written if it does not exist",
              &RunOptions::plan_file, OptionScope::plan},
      FileRow{"loss-log", "FILE.csv", "write the loss of every training step to FILE",
              &RunOptions::loss_log},
      FileRow{"initial-weights", "FILE", "start from the weights in this safetensors file",
              &RunOptions::initial_weights, OptionScope::training},
      FileRow{"save-initial-weights", "FILE", "write the weights before the first step",
              &RunOptions::save_initial_weights},
      FileRow{"save-final-weights", "FILE", "write the weights after the last step",
              &RunOptions::save_final_weights}};
  for (const FileRow& file : files)
    rows.push_back(text_option({.name = file.name,
                                .value = file.value,
                                .help = file.help,
                                .hint = ValueHint::file,
                                .scope = file.scope},
                               file.field));
}

void append_trace(RunOptionRows& rows) {
  rows.push_back(text_option({.name = "trace",
                              .value = "DIR",
                              .group = "Files",
                              .help = "after measuring, trace some steps of a copy of the "
                                      "training: one file for each rank, for Perfetto and others",
                              .hint = ValueHint::directory,
                              .scope = OptionScope::first_repetition},
                             &RunOptions::trace));
  rows.push_back(Row{{.name = "trace-steps",
                      .value = "[FIRST:]COUNT",
                      .help = "with --trace, which steps, counted from 1",
                      .fallback = "4, after a warm-up",
                      .example = "1:10",
                      .domain = fmt::format("COUNT from 1 to {}, or FIRST:COUNT", kMostTracedSteps),
                      .scope = OptionScope::first_repetition},
                     set_trace_steps});
}

// NOLINTNEXTLINE(readability-function-size): one row after the other
void append_hidden(RunOptionRows& rows) {
  std::vector<OptionRow<ProcessOrders>> orders;
  orders.push_back({{.name = "pass",
                     .value = "PASS",
                     .group = "Hidden",
                     .help = "do this part of a run in this process",
                     .choices = {"prepare", "first", "next"},
                     .scope = OptionScope::task,
                     .hidden = true},
                    set_pass});
  orders.push_back(whole_option({.name = "region",
                                 .value = "FD",
                                 .help = "inherited descriptor of the ranks' memory",
                                 .example = "3",
                                 .scope = OptionScope::launch,
                                 .hidden = true},
                                &ProcessOrders::region, 0, 1'000'000));
  orders.push_back(whole_option({.name = "launched-ranks",
                                 .value = "N",
                                 .help = "be one of N ranks that a sweep's launcher starts",
                                 .example = "2",
                                 .scope = OptionScope::launch,
                                 .hidden = true},
                                &ProcessOrders::launched_ranks, 2, kMostRanks));
  orders.push_back(whole_option({.name = "launched-by",
                                 .value = "PID",
                                 .help = "end when that process has ended",
                                 .example = "1234",
                                 .scope = OptionScope::launch,
                                 .hidden = true},
                                &ProcessOrders::launched_by, 1, kMostProcessId));
  orders.push_back(text_option({.name = "keep-plan",
                                .value = "FILE",
                                .help = "write the choices of operators there too",
                                .hint = ValueHint::file,
                                .scope = OptionScope::leading,
                                .hidden = true},
                               &ProcessOrders::keep_plan));
  orders.push_back(text_option({.name = "progress-prefix",
                                .value = "TEXT",
                                .help = "show progress after this text, wherever it goes",
                                .scope = OptionScope::report,
                                .hidden = true},
                               &ProcessOrders::progress_prefix));
  orders.push_back(text_option({.name = "turns",
                                .value = "NAME",
                                .help = "take steps in turns that are granted at this local socket",
                                .scope = OptionScope::leading,
                                .hidden = true},
                               &ProcessOrders::turns));
  orders.push_back(text_option({.name = "steps-socket",
                                .value = "FILE",
                                .help = "have --program report its steps at this local socket",
                                .hint = ValueHint::file,
                                .scope = OptionScope::leading,
                                .hidden = true},
                               &ProcessOrders::steps_socket));
  for (OptionRow<ProcessOrders>& row : orders)
    rows.push_back(option_of_part(&RunOptions::orders, std::move(row)));
}

void append_slowdown(RunOptionRows& rows) {
  rows.push_back(real_option({.name = "slowdown",
                              .value = "X",
                              .group = "Hidden",
                              .help = "make every step this share longer, and say so in the record",
                              .fallback = "0",
                              .hidden = true},
                             &RunOptions::slowdown, 0, 100));
  rows.push_back(whole_option({.name = "slowdown-turns",
                               .value = "N",
                               .help = "with --slowdown, leave N steps as they are and make N "
                                       "longer, in turn",
                               .example = "16",
                               .hidden = true},
                              &RunOptions::slowdown_turns, 1, kMostSteps));
}

}  // namespace ptbench
