#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "page/html.h"
#include "page/sections.h"
#include "reports/field_text.h"
#include "reports/run_words.h"
#include "reports/scaling_text.h"
#include "src/base/units.h"
#include "src/judge/ranking.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/reliability.h"
#include "src/measure/run_id.h"
#include "src/measure/statistics.h"

namespace ptbench {
namespace {

/// How a column is left out that tells rows apart by nothing, or says nothing.
enum class Presence { always, where_it_varies, where_it_is_known };

struct RunColumn {
  HtmlColumn head;
  Presence presence = Presence::where_it_is_known;
  HtmlCell (*cell)(const ResultFile& file, const RunRecord& run) = nullptr;
};

HtmlCell text_cell(const std::string& text) { return {.text = text}; }

HtmlCell count_cell(const std::optional<Size>& count) {
  if (!count) return {};
  return {.text = fmt::format("{}", *count), .sort = fmt::format("{}", *count)};
}

/// A number as people see it, sorted by itself; empty where it is not known.
HtmlCell number_cell(const std::optional<double>& value, const std::string& text) {
  const FieldValue known = value ? FieldValue(*value) : FieldValue();
  if (std::holds_alternative<std::monostate>(known) || !std::isfinite(*value)) return {};
  return {.text = text, .sort = number_text(*value)};
}

HtmlCell human_cell(const std::optional<double>& value, Unit unit) {
  return value && std::isfinite(*value) ? number_cell(value, human_text(*value, unit)) : HtmlCell();
}

/// The options in an id after what columns of their own tell.
std::string options_text(const RunRecord& run) {
  const std::string key = run_id({.workload = run.workload.name,
                                  .strategy = run.strategy.name,
                                  .world_size = run.strategy.world_size,
                                  .batch_per_replica = run.strategy.batch_per_replica.value_or(0),
                                  .precision = run.strategy.precision});
  if (!run.id.starts_with(key + "/")) return {};
  std::string options = run.id.substr(key.size() + 1);
  if (!options.starts_with("threads=")) return options;
  const std::size_t end = options.find('/');
  return end == std::string::npos ? std::string() : options.substr(end + 1);
}

HtmlCell status_cell(const ResultFile& /*file*/, const RunRecord& run) {
  return {.text = std::string(name_of(run.status)),
          .note = run.status == Status::ok ? std::string() : run.reason.value_or(""),
          .mark = run.status == Status::failed ? "bad"
                  : run.status == Status::ok   ? ""
                                               : "doubt"};
}

/// A ratio of the run and what it is held against, with what keeps one from relying on it.
template <std::optional<double> ScalingRecord::* Value,
          std::optional<std::string> ScalingRecord::* Other, std::string (*Text)(const RunRecord&)>
HtmlCell ratio_cell(const ResultFile& file, const RunRecord& run) {
  if (!is_ranked(run) || !run.scaling) return {};
  HtmlCell cell = number_cell(*run.scaling.*Value, Text(run));
  const RunRecord* const other = find_run(file, *run.scaling.*Other);
  if (cell.text.empty() || is_ratio_reliable(run, other)) return cell;
  const Reliability own = reliability_of(run);
  cell.note =
      own.is_reliable() ? other->id + " is " + text_of(reliability_of(*other)) : text_of(own);
  cell.mark = "doubt";
  return cell;
}

HtmlCell throughput_cell(const ResultFile& /*file*/, const RunRecord& run) {
  if (!is_ranked(run)) return {};
  const Reliability found = reliability_of(run);
  HtmlCell cell = number_cell(run.throughput.value, throughput_words(run));
  if (!found.is_reliable()) {
    cell.note = text_of(found);
    cell.mark = "doubt";
  }
  return cell;
}

HtmlCell clean_cell(const ResultFile& /*file*/, const RunRecord& run) {
  const Reliability found = reliability_of(run);
  if (found.repetitions == 0) return {};
  return {.text = fmt::format("{} of {}{}", found.clean, found.repetitions,
                              unknown_text(found.unknown)),
          .sort = fmt::format("{}", found.clean)};
}

HtmlCell speedup_cell(const ResultFile& file, const RunRecord& run) {
  HtmlCell cell =
      ratio_cell<&ScalingRecord::speedup, &ScalingRecord::baseline, speedup_text>(file, run);
  if (cell.text.empty()) return cell;
  const std::string rounds = rounds_text(run, find_run(file, run.scaling->baseline));
  if (!rounds.empty()) cell.note = "of " + rounds + (cell.note.empty() ? "" : "; " + cell.note);
  return cell;
}

HtmlCell verification_cell(const ResultFile& /*file*/, const RunRecord& run) {
  HtmlCell cell{.text = std::string(name_of(run.verification.status))};
  std::ranges::replace(cell.text, '_', ' ');
  if (run.verification.status == VerificationStatus::failed) cell.mark = "bad";
  if (run.verification.status == VerificationStatus::weak) cell.mark = "doubt";
  return cell;
}

std::string warning_codes(const RunRecord& run) {
  std::string codes;
  for (const WarningRecord& warning : run.warnings)
    codes += (codes.empty() ? "" : ", ") + warning.code;
  return codes;
}

/// A skipped run has no figures, whatever its record holds.
template <HtmlCell (*Cell)(const RunRecord&)>
HtmlCell measured(const ResultFile& /*file*/, const RunRecord& run) {
  return is_ranked(run) ? Cell(run) : HtmlCell();
}

const std::array kColumns{
    RunColumn{{"strategy", ""},
              Presence::always,
              [](const ResultFile&, const RunRecord& run) { return text_cell(run.strategy.name); }},
    RunColumn{{"ranks", "processes, or replicas of one", true},
              Presence::where_it_varies,
              [](const ResultFile&, const RunRecord& run) {
                return count_cell(run.strategy.world_size);
              }},
    RunColumn{{"hosts", "that the ranks are on", true},
              Presence::where_it_varies,
              [](const ResultFile& file, const RunRecord& run) {
                return has_several_hosts(file) ? count_cell(run.strategy.hosts) : HtmlCell();
              }},
    RunColumn{{"workload", ""},
              Presence::where_it_varies,
              [](const ResultFile&, const RunRecord& run) { return text_cell(run.workload.name); }},
    RunColumn{{"batch", "samples in a replica's micro-batch", true},
              Presence::where_it_varies,
              [](const ResultFile&, const RunRecord& run) {
                return count_cell(run.strategy.batch_per_replica);
              }},
    RunColumn{
        {"precision", ""},
        Presence::where_it_varies,
        [](const ResultFile&, const RunRecord& run) { return text_cell(run.strategy.precision); }},
    RunColumn{
        {"threads", "of a replica", true},
        Presence::where_it_varies,
        [](const ResultFile&, const RunRecord& run) { return count_cell(run.strategy.threads); }},
    RunColumn{{"options", "that are not at their default"},
              Presence::where_it_varies,
              [](const ResultFile&, const RunRecord& run) { return text_cell(options_text(run)); }},
    RunColumn{{"host", ""},
              Presence::where_it_varies,
              [](const ResultFile& file, const RunRecord&) {
                return text_cell(file.environment.host.name);
              }},
    RunColumn{{"measured", "when"},
              Presence::where_it_varies,
              [](const ResultFile& file, const RunRecord&) { return text_cell(file.created); }},
    RunColumn{{"commit", "of ptbench"},
              Presence::where_it_varies,
              [](const ResultFile& file, const RunRecord&) {
                return text_cell(file.generator.git_commit.value_or(""));
              }},
    RunColumn{{"status", ""}, Presence::where_it_varies, status_cell},
    RunColumn{{"throughput", "samples over seconds of all ranks, with its 95 % interval", true},
              Presence::where_it_is_known,
              throughput_cell},
    RunColumn{{"speedup", "against serial training on one replica's threads", true},
              Presence::where_it_is_known,
              speedup_cell},
    RunColumn{{"efficiency", "speedup over ranks", true},
              Presence::where_it_is_known,
              ratio_cell<&ScalingRecord::efficiency, &ScalingRecord::baseline, efficiency_text>},
    RunColumn{{"vs all cores", "against serial training on all cores", true},
              Presence::where_it_is_known,
              ratio_cell<&ScalingRecord::efficiency_vs_all_cores, &ScalingRecord::all_cores,
                         all_cores_text>},
    RunColumn{{"link", "between two hosts, each way: latency and bandwidth"},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) { return text_cell(link_text(run)); }>},
    RunColumn{{"within hosts", "efficiency of one host's ranks, over one rank", true},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) {
                return number_cell(
                    run.scaling ? run.scaling->efficiency_within_hosts : std::nullopt,
                    within_hosts_text(run));
              }>},
    RunColumn{{"across hosts", "speedup over one host's ranks, over hosts", true},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) {
                return number_cell(
                    run.scaling ? run.scaling->efficiency_across_hosts : std::nullopt,
                    across_hosts_text(run));
              }>},
    RunColumn{
        {"predicted",
         "efficiency across hosts that the link's cost predicts, from no overlap to full overlap",
         true},
        Presence::where_it_is_known,
        measured<[](const RunRecord& run) {
          return number_cell(
              run.scaling ? run.scaling->predicted.efficiency_across_hosts : std::nullopt,
              predicted_text(run));
        }>},
    RunColumn{
        {"step ratio", "mean step over that of the first engine, and its 95 % interval", true},
        Presence::where_it_is_known,
        measured<[](const RunRecord& run) {
          return number_cell(run.versus ? run.versus->step_time_ratio : std::nullopt,
                             versus_text(run));
        }>},
    RunColumn{{"step", "the median", true},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) {
                return human_cell(run.step_seconds.median, Unit::seconds);
              }>},
    RunColumn{{"p99", "99 % of the steps take at most this long", true},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) {
                return human_cell(run.step_seconds.p99, Unit::seconds);
              }>},
    RunColumn{{"clean", "undisturbed repetitions", true}, Presence::where_it_is_known, clean_cell},
    RunColumn{{"of peak", "share of the machine's measured peak", true},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) {
                return human_cell(run.compute.utilization, Unit::fraction);
              }>},
    RunColumn{{"memory", "the largest resident size", true},
              Presence::where_it_is_known,
              measured<[](const RunRecord& run) {
                const auto& bytes = run.memory.peak_bytes;
                return bytes ? HtmlCell{.text = format_bytes(*bytes),
                                        .sort = fmt::format("{}", *bytes)}
                             : HtmlCell();
              }>},
    RunColumn{{"verified", "compared with serial training"},
              Presence::where_it_is_known,
              verification_cell},
    RunColumn{
        {"warnings", "explained below the table", false, true},
        Presence::where_it_is_known,
        [](const ResultFile&, const RunRecord& run) { return text_cell(warning_codes(run)); }},
    RunColumn{{"id", "what compare and export call the run"},
              Presence::always,
              [](const ResultFile&, const RunRecord& run) { return text_cell(run.id); }},
};

using Cells = std::vector<HtmlCell>;

bool is_shown(const RunColumn& column, const Cells& cells) {
  switch (column.presence) {
    case Presence::always: return true;
    case Presence::where_it_is_known:
      return std::ranges::any_of(cells, [](const HtmlCell& cell) { return !cell.text.empty(); });
    case Presence::where_it_varies:
      return std::ranges::any_of(
          cells, [&](const HtmlCell& cell) { return cell.text != cells.front().text; });
  }
  return true;
}

/// "precision fp32"; empty where that says nothing.
std::string common_text(const RunColumn& column, const Cells& cells) {
  if (column.presence != Presence::where_it_varies || cells.front().text.empty()) return {};
  return fmt::format("{} {}", column.head.heading, cells.front().text);
}

}  // namespace

std::string run_section(std::span<const ResultFile> files, std::span<const std::string> sides) {
  std::size_t runs = 0;
  for (const ResultFile& file : files) runs += file.runs.size();
  if (runs == 0) return {};
  HtmlTable table{.is_sortable = true};
  table.rows.resize(runs);
  if (!sides.empty()) {
    table.columns.push_back({.heading = "side"});
    std::size_t row = 0;
    for (std::size_t at = 0; at < files.size(); ++at)
      for (std::size_t run = 0; run < files[at].runs.size(); ++run)
        table.rows[row++].push_back({.text = sides[at]});
  }
  std::string common;
  for (const RunColumn& column : kColumns) {
    Cells cells;
    cells.reserve(runs);
    for (const ResultFile& file : files)
      for (const RunRecord& run : file.runs) cells.push_back(column.cell(file, run));
    if (!is_shown(column, cells)) {
      if (const std::string text = common_text(column, cells); !text.empty())
        common += (common.empty() ? "" : ", ") + text;
      continue;
    }
    table.columns.push_back(column.head);
    for (std::size_t row = 0; row < runs; ++row) table.rows[row].push_back(std::move(cells[row]));
  }
  table.caption = fmt::format("{} run{}{}{}", runs, runs == 1 ? "" : "s",
                              common.empty() ? ""
                              : runs == 1    ? ": "
                                             : ", all of ",
                              common);
  return html_section("runs", "Runs", html_table(table));
}

}  // namespace ptbench
