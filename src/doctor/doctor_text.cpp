#include <fmt/format.h>

#include <algorithm>

#include "reports/wrap.h"
#include "src/base/text.h"
#include "src/doctor/doctor.h"

namespace ptbench {
namespace {

/// "core latency" for "core_latency_seconds": the detail has the unit.
std::string label_of(const Finding& finding) {
  std::string label = finding.name;
  for (const std::string_view unit :
       {"_flops_per_second", "_bytes_per_second", "_bytes", "_seconds", "_hertz", "_fraction"})
    if (label.ends_with(unit)) label.resize(label.size() - unit.size());
  std::ranges::replace(label, '_', ' ');
  return label;
}

std::size_t widest_label(const std::vector<FindingGroup>& groups) {
  std::size_t widest = 0;
  for (const FindingGroup& group : groups)
    for (const Finding& finding : group.findings)
      widest = std::max(widest, label_of(finding).size());
  return widest;
}

/// "name  state: detail", the remedy below it.
std::string finding_text(const Finding& finding, std::size_t name_width, std::size_t columns) {
  const std::size_t indent = name_width + 4;
  std::string text = finding.state == kNote ? "" : finding.state;
  if (!finding.detail.empty()) text += (text.empty() ? "" : ": ") + finding.detail;
  std::string lines = fmt::format("  {:{}}  {}\n", label_of(finding), name_width,
                                  wrapped(single_line(text), indent, columns));
  if (!finding.remedy.empty())
    lines += std::string(indent, ' ') +
             wrapped("-> " + single_line(finding.remedy), indent, columns) + "\n";
  return lines;
}

}  // namespace

std::string doctor_text(const std::vector<FindingGroup>& groups, std::size_t columns) {
  const std::size_t name_width = widest_label(groups);
  std::string text;
  for (const FindingGroup& group : groups) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", group.name);
    for (const Finding& finding : group.findings)
      text += finding_text(finding, name_width, columns);
  }
  return text;
}

std::vector<Table> doctor_tables(const std::vector<FindingGroup>& groups) {
  std::vector<Table> tables;
  for (const FindingGroup& group : groups) {
    Table table{.name = group.name,
                .columns = {{"name", "name"},
                            {"state", "state"},
                            {"value", "value"},
                            {"detail", "detail"},
                            {"remedy", "remedy"}}};
    for (const Finding& finding : group.findings)
      table.rows.push_back({finding.name, finding.state, finding.value, finding.detail,
                            finding.remedy.empty() ? FieldValue() : FieldValue(finding.remedy)});
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace ptbench
