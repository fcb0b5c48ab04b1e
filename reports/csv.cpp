#include "reports/csv.h"

#include <string_view>

#include "reports/field_text.h"
#include "src/measure/field_table.h"
#include "src/measure/text.h"

namespace ptbench {
namespace {

std::string quoted(std::string_view text) {
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
  std::string operator()(const std::string& value) const { return quoted(single_line(value)); }
};

}  // namespace

std::string to_csv(const ResultFile& file) {
  std::string text;
  for (const Field& field : field_table()) {
    if (!text.empty()) text += ',';
    text += field.path;
  }
  text += '\n';
  for (const RunRecord& run : file.runs) {
    std::string row;
    for (const Field& field : field_table()) {
      if (&field != &field_table().front()) row += ',';
      row += std::visit(CellText{}, field.get(run));
    }
    text += row + '\n';
  }
  return text;
}

}  // namespace ptbench
