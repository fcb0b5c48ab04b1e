#include "app/results/comparison_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "app/publish/page_report.h"
#include "reports/comparison_text.h"
#include "reports/named_files.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// How a file with that extension is written.
struct ComparisonReporter {
  std::string_view extension;
  std::string (*write)(const ComparedResults&);
  void (*check)() = nullptr;  ///< see Reporter
};

/// Of a format that tells the verdicts alone.
template <std::string (*Write)(const Comparison&)>
std::string verdicts(const ComparedResults& compared) {
  return Write(compared.comparison);
}

constexpr std::array kReporters{ComparisonReporter{".md", verdicts<comparison_markdown>},
                                ComparisonReporter{".json", verdicts<comparison_json>},
                                ComparisonReporter{".xml", verdicts<comparison_junit>},
                                ComparisonReporter{".html", to_page, check_page_needs}};

const ComparisonReporter& reporter_for(const std::string& output) {
  const auto* const reporter = std::ranges::find(kReporters, fs::path(output).extension().string(),
                                                 &ComparisonReporter::extension);
  if (reporter == kReporters.end())
    throw usage_error(
        fmt::format("--output '{}' ends in no known format", single_line(output)),
        "name a file that ends in .md, .json, .xml or .html, or - for JSON on standard output");
  if (reporter->check != nullptr) reporter->check();
  return *reporter;
}

/// Who measures again and again, each time with operators chosen anew, never gets a verdict.
void tell_unlike_plans(const Comparison& comparison) {
  const auto has_another_plan = [](const RunComparison& run) {
    return run.verdict == Verdict::incomparable &&
           std::ranges::any_of(run.differences, [](const std::string& difference) {
             return difference.starts_with("plan ");
           });
  };
  const Size unlike = std::ranges::count_if(comparison.runs, has_another_plan);
  if (unlike == 0 || !comparison.differences.empty()) return;  // no plan fits two machines
  log_warning(
      fmt::format("{} of {} runs got no verdict, because the two sides chose operators separately "
                  "and have different plans",
                  unlike, comparison.runs.size()));
  log_note(
      "remedy: measure both sides with one --plan FILE, which the first run writes, or compare "
      "them anyway with --ignore-environment");
}

}  // namespace

ComparisonFiles::ComparisonFiles(const std::vector<std::string>& outputs) {
  for (const std::string& output : outputs)
    if (output != "-")
      files_.push_back({reporter_for(output).write, std::make_unique<OutputFile>(output)});
}

void ComparisonFiles::publish(const ComparedResults& compared) {
  for (const Report& report : files_) report.file->commit(report.write(compared));
}

void print_comparison(const Comparison& comparison, const CompareConfig& config) {
  const bool json = config.json || std::ranges::find(config.outputs, "-") != config.outputs.end();
  if (json) {
    fmt::print(stderr, "{}", comparison_console(comparison, console_style(stderr)));
    write_standard_output(comparison_json(comparison));
  } else {
    write_standard_output(comparison_console(comparison, console_style(stdout)));
  }
  tell_unlike_plans(comparison);
}

}  // namespace ptbench
