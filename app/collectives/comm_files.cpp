#include "app/collectives/comm_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "app/collectives/comm_tables.h"
#include "reports/named_files.h"
#include "src/base/error.h"
#include "src/base/log.h"

namespace ptbench {
namespace {

using Rows = std::vector<CommMeasurement>;

struct CommReporter {
  std::string_view extension;
  std::string (*write)(const Rows& rows);
};

constexpr std::array kReporters{
    CommReporter{".json", [](const Rows& rows) { return table_json(comm_json_table(rows)); }},
    CommReporter{".md", [](const Rows& rows) { return table_markdown(comm_text_table(rows)); }},
    CommReporter{".txt", [](const Rows& rows) {
                   return table_text(comm_text_table(rows)) + std::string(comm_columns_text());
                 }}};

const CommReporter& reporter_for(const std::string& output) {
  const auto* const reporter = std::ranges::find(
      kReporters, std::filesystem::path(output).extension().string(), &CommReporter::extension);
  if (reporter == kReporters.end())
    throw usage_error(fmt::format("--output '{}' ends in no known format", printable(output)),
                      "name a file that ends in .json, .md or .txt");
  return *reporter;
}

}  // namespace

CommFiles::CommFiles(const std::vector<std::string>& outputs) {
  refuse_files_named_twice(outputs);
  for (const std::string& output : outputs)
    reports_.push_back({reporter_for(output).write, std::make_unique<OutputFile>(output)});
}

void CommFiles::publish(const Rows& rows) {
  for (const Report& report : reports_) report.file->commit(report.write(rows));
}

}  // namespace ptbench
