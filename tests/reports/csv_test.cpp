#include "reports/csv.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <vector>

#include "src/measure/field_table.h"
#include "tests/reports/comma_locale.h"
#include "tests/reports/example.h"

namespace ptbench {
namespace {

/// RFC 4180, as another program would read it.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[i++];
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text[i] == ',')
      rows.back().emplace_back();
    else if (!quoted && text[i] == '\n')
      rows.emplace_back(1);
    else
      rows.back().back() += text[i];
  }
  rows.pop_back();  // behind the last line feed
  return rows;
}

/// The cells of one run by the header's names.
std::map<std::string, std::string> cells_of(const RunRecord& run) {
  ResultFile file;
  file.runs = {run};
  const auto rows = read_csv(to_csv(file));
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].size() == rows[1].size());
  std::map<std::string, std::string> cells;
  for (std::size_t i = 0; i < rows[0].size(); ++i) cells[rows[0][i]] = rows[1][i];
  return cells;
}

}  // namespace

TEST_CASE("a result file as CSV", "[reports]") {
  CHECK(to_csv(testing::example_file()) == testing::golden("example.csv"));
}

TEST_CASE("CSV does not depend on the locale", "[reports]") {
  const testing::CommaLocale locale;
  CHECK(to_csv(testing::example_file()) == testing::golden("example.csv"));
}

TEST_CASE("the header is fixed columns and the field table, whatever the runs hold", "[reports]") {
  const auto rows = read_csv(to_csv(ResultFile{}));
  REQUIRE(rows.size() == 1);
  const std::vector<std::string> fixed{
      "host", "cpu", "commit", "created", "clean_repetitions", "unknown_repetitions", "warnings"};
  REQUIRE(rows[0].size() == fixed.size() + field_table().size());
  CHECK(std::equal(fixed.begin(), fixed.end(), rows[0].begin()));
  for (std::size_t i = 0; i < field_table().size(); ++i)
    CHECK(rows[0][fixed.size() + i] == field_table()[i].path);
}

TEST_CASE("the columns before the fields tell where a row comes from", "[reports]") {
  ResultFile file = testing::example_file();
  file.runs = {testing::full_run()};
  file.runs[0].samples.repetitions.push_back({.median_seconds = 0.1, .clean_slices = 0});
  const auto rows = read_csv(to_csv(file));
  const std::vector<std::string> begin(rows[1].begin(), rows[1].begin() + 7);
  CHECK(begin == std::vector<std::string>{"vm-17", "Some Maker CPU", "abc1234",
                                          "2025-06-30T12:34:56Z", "1", "0", "few-samples odd"});
  file.runs[0].samples.slices.emplace_back().repetition = 1;
  CHECK(read_csv(to_csv(file))[1][5] == "1");
}

TEST_CASE("files of two machines can be put together", "[reports]") {
  ResultFile here = testing::example_file();
  here.runs.push_back(testing::bare_run(Status::failed, "rank 1 died"));
  ResultFile there = testing::example_file();
  there.environment = {};
  there.environment.host.name = "other, \"the fast one\"";
  there.environment.cpu.model = "Other Maker CPU";
  there.generator.git_commit = "def5678";
  there.created = "2025-07-01T00:00:00Z";
  there.runs = {testing::full_run()};
  const std::string first = to_csv(here);
  const std::string second = to_csv(there);
  const std::size_t header = first.find('\n') + 1;
  REQUIRE(first.substr(0, header) == second.substr(0, header));
  const auto rows = read_csv(first + second.substr(header));
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  std::vector<std::string> origins;
  for (const auto& row : rows)
    origins.push_back(row[0] + "|" + row[1] + "|" + row[2] + "|" + row[3]);
  CHECK(origins[1] == "vm-17|Some Maker CPU|abc1234|2025-06-30T12:34:56Z");
  CHECK(origins[2] == origins[1]);
  CHECK(origins[3] == "other, \"the fast one\"|Other Maker CPU|def5678|2025-07-01T00:00:00Z");
}

TEST_CASE("one row a run", "[reports]") {
  ResultFile file = testing::example_file();
  file.runs.push_back(testing::full_run());
  file.runs.push_back(testing::bare_run(Status::skipped, "needs 4 cores, has 2"));
  const std::string text = to_csv(file);
  CHECK(read_csv(text).size() == 4);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("what is not known is an empty cell, never 0", "[reports]") {
  auto cells = cells_of(testing::bare_run(Status::failed, "it broke, \"badly\""));
  CHECK(cells.at("reason") == "it broke, \"badly\"");
  CHECK(cells.at("throughput.value").empty());
  CHECK(cells.at("throughput.ci95_low").empty());
  CHECK(cells.at("accuracy.test").empty());
  CHECK(cells.at("scaling.mode").empty());
  CHECK(cells.at("strategy.overlap").empty());
  RunRecord run;
  run.loss.last = 0;
  run.loss.first = std::numeric_limits<double>::quiet_NaN();
  cells = cells_of(run);
  CHECK(cells.at("loss.last") == "0");
  CHECK(cells.at("loss.first").empty());
}

TEST_CASE("values in CSV", "[reports]") {
  const auto cells = cells_of(testing::full_run());
  CHECK(cells.at("strategy.world_size") == "2");
  CHECK(cells.at("strategy.overlap") == "true");
  CHECK(cells.at("throughput.value") == "30476.190476190477");
  CHECK(cells.at("throughput.ci95_low") == "30917.9");
  CHECK(cells.at("scaling.loss.data") == "0");
  CHECK(cells.at("step_seconds.run_to_run_sd") == "1.25e-05");
  CHECK(cells.at("workload.flops_per_sample") == "6750000");
}

TEST_CASE("names in CSV are quoted, and escaped where they hold control characters", "[reports]") {
  const auto cells = cells_of(testing::full_run());
  CHECK(cells.at("workload.name") == "models/\"odd\", with\\x09tab.json");
  CHECK(cells.at("data.source") == "caf\uFFFD\\x0a\\x1b[31mred\\x7f\\x9b");
}

}  // namespace ptbench
