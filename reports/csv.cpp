#include "reports/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "reports/field_text.h"
#include "src/base/text.h"
#include "src/measure/counted_repetitions.h"
#include "src/measure/field_table.h"

namespace ptbench {
namespace {

std::string in_quotes(std::string_view text) {
  if (text.find_first_of(",\"") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"') result += '"';
    result += letter;
  }
  return result + '"';
}

struct CellText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return in_quotes(single_line(value)); }
};

FieldValue known(const std::optional<std::string>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

FieldValue clean_count(const SamplesRecord& samples) {
  if (samples.repetitions.empty()) return {};
  return static_cast<std::int64_t>(count_clean(samples));
}

FieldValue unknown_count(const SamplesRecord& samples) {
  if (samples.repetitions.empty()) return {};
  return static_cast<std::int64_t>(unknown_repetitions(samples));
}

FieldValue warning_codes(const RunRecord& run) {
  std::string codes;
  for (const WarningRecord& warning : run.warnings)
    codes += (codes.empty() ? "" : " ") + warning.code;
  return codes.empty() ? FieldValue() : FieldValue(codes);
}

/// A column that is no field of a run.
struct Column {
  std::string_view heading;
  FieldValue (*get)(const ResultFile& file, const RunRecord& run);
};

/// What tells rows of several files apart, and what to think of them.
constexpr std::array<Column, 7> kFileColumns{{
    {"host",
     [](const ResultFile& file, const RunRecord&) -> FieldValue {
       return file.environment.host.name;
     }},
    {"cpu",
     [](const ResultFile& file, const RunRecord&) { return known(file.environment.cpu.model); }},
    {"commit",
     [](const ResultFile& file, const RunRecord&) { return known(file.generator.git_commit); }},
    {"created",
     [](const ResultFile& file, const RunRecord&) -> FieldValue { return file.created; }},
    {"clean_repetitions",
     [](const ResultFile&, const RunRecord& run) { return clean_count(run.samples); }},
    {"unknown_repetitions",
     [](const ResultFile&, const RunRecord& run) { return unknown_count(run.samples); }},
    {"warnings", [](const ResultFile&, const RunRecord& run) { return warning_codes(run); }},
}};

}  // namespace

std::string to_csv(const ResultFile& file) {
  std::string text;
  for (const Column& column : kFileColumns) text += fmt::format("{},", column.heading);
  for (const Field& field : field_table())
    text += fmt::format("{}{}", &field == &field_table().front() ? "" : ",", field.path);
  text += '\n';
  for (const RunRecord& run : file.runs) {
    std::string row;
    for (const Column& column : kFileColumns)
      row += std::visit(CellText{}, column.get(file, run)) + ",";
    for (const Field& field : field_table()) {
      if (&field != &field_table().front()) row += ',';
      row += std::visit(CellText{}, field.get(run));
    }
    text += row + '\n';
  }
  return text;
}

}  // namespace ptbench
