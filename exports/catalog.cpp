#include "exports/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "exports/formats.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/suggest.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

constexpr std::array<Exporter, 9> kExporters{
    {{.name = "gbench",
      .reader = "Google Benchmark's compare.py",
      .summary = "a step's time in each repetition, with mean, median and stddev",
      .names_once = true,
      .write = gbench_export},
     {.name = "gha-bigger",
      .reader = "github-action-benchmark, customBiggerIsBetter",
      .summary = "throughput and scaling efficiency",
      .measured_only = true,
      .names_once = true,
      .write = gha_bigger_export},
     {.name = "gha-smaller",
      .reader = "github-action-benchmark, customSmallerIsBetter",
      .summary = "step time and peak memory",
      .measured_only = true,
      .names_once = true,
      .write = gha_smaller_export},
     {.name = "bmf",
      .reader = "Bencher, bencher run --adapter json",
      .summary = "latency and throughput with their intervals, memory, scaling efficiency",
      .measured_only = true,
      .names_once = true,
      .write = bmf_export},
     {.name = "hyperfine",
      .reader = "hyperfine's scripts",
      .summary = "a step's time in each repetition, for plots and Welch's t-test",
      .measured_only = true,
      .write = hyperfine_export},
     {.name = "markdown",
      .reader = "people, on GitHub and elsewhere",
      .summary = "a table with one row for each run",
      .write = markdown_export},
     {.name = "jsonl",
      .reader = "jq, pandas, DuckDB",
      .summary = "one line for each run: all that its record holds, and its provenance",
      .write = jsonl_export},
     {.name = "junit",
      .reader = "test reports of CI servers",
      .summary =
          "one test case for each run; failed if the run failed, or did not match serial training",
      .write = junit_export},
     {.name = "mlperf",
      .reader = "parsers of MLPerf's logs",
      .summary = "MLLOG lines; no claim to comply with MLPerf's rules",
      .write = mlperf_export}}};

bool holds_runs(const NamedResult& named) { return !named.result.runs.empty(); }

bool has_measured_run(const NamedResult& named) {
  return std::ranges::any_of(
      named.result.runs, [](const RunRecord& run) { return outcome_of(run) == Outcome::measured; });
}

/// "'a.json' and 2 more".
std::string files_text(std::span<const NamedResult> results) {
  if (results.empty()) return "no file";
  const std::string first = printable(results.front().file);
  return results.size() == 1 ? fmt::format("'{}'", first)
                             : fmt::format("'{}' and {} more", first, results.size() - 1);
}

void refuse_what_says_nothing(const Exporter& exporter, std::span<const NamedResult> results) {
  if (std::ranges::none_of(results, holds_runs))
    throw usage_error(fmt::format("{}: there is no run to export", files_text(results)),
                      "name results of ptbench run or sweep that hold runs");
  if (!exporter.measured_only || std::ranges::any_of(results, has_measured_run)) return;
  const auto with_runs = std::ranges::find_if(results, holds_runs);
  const RunRecord& run = with_runs->result.runs.front();
  throw usage_error(
      fmt::format("{}: no run has figures, but {} needs a run with figures; '{}' {}",
                  files_text(results), exporter.reader, single_line(run.id), reason_of(run)),
      "measure again, or report what failed with --format junit");
}

void refuse_names_twice(const Exporter& exporter, std::span<const NamedResult> results) {
  std::map<std::string_view, std::string_view> file_of;
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs) {
      const auto [found, is_new] = file_of.emplace(run.id, named.file);
      if (!is_new)
        throw usage_error(
            fmt::format("run '{}' is in '{}' and in '{}', and --format {} cannot tell them apart",
                        single_line(run.id), printable(found->second), printable(named.file),
                        exporter.name),
            "export each file by itself");
    }
}

}  // namespace

std::span<const Exporter> exporter_catalog() { return kExporters; }

std::vector<std::string> exporter_names() {
  std::vector<std::string> names;
  names.reserve(kExporters.size());
  for (const Exporter& exporter : kExporters) names.emplace_back(exporter.name);
  return names;
}

const Exporter& find_exporter(std::string_view name) {
  const auto* const exporter = std::ranges::find(kExporters, name, &Exporter::name);
  if (exporter != kExporters.end()) return *exporter;
  const std::string suggestion = did_you_mean(name, exporter_names());
  throw usage_error(fmt::format("unknown export format '{}'", printable(name)),
                    suggestion.empty() ? "ptbench list exports shows them" : suggestion);
}

Export export_results(const Exporter& exporter, std::span<const NamedResult> results) {
  refuse_what_says_nothing(exporter, results);
  if (exporter.names_once) refuse_names_twice(exporter, results);
  Export done{.text = exporter.write(results)};
  if (!exporter.measured_only) return done;
  for (const NamedResult& named : results)
    for (const RunRecord& run : named.result.runs)
      if (outcome_of(run) != Outcome::measured)
        done.left_out.push_back(fmt::format("{}: {}", single_line(run.id), reason_of(run)));
  return done;
}

}  // namespace ptbench
