#include "reports/table.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

namespace ptbench {
namespace {

Table example_table() {
  return {.name = "devices",
          .columns = {{"id", "device"},
                      {"memory_bytes", "memory", Unit::bytes},
                      {"busy", "busy"},
                      {"name", "name"}},
          .rows = {{"cpu", Size{1} << 30, false, "a|b"},
                   {"cuda:10", FieldValue(), true, "µ \x1b[31m"}}};
}

}  // namespace

TEST_CASE("a table as text has aligned columns, and nothing that moves the cursor") {
  CHECK(table_text(example_table()) ==
        "device     memory  busy  name\n"
        "cpu      1.00 GiB  no    a|b\n"
        "cuda:10         -  yes   µ \\x1b[31m\n");
}

TEST_CASE("a long last column is broken into lines") {
  Table table{.name = "t", .columns = {{"a", "a"}, {"b", "b"}}};
  std::string words;
  for (int word = 0; word < 30; ++word) words += "word ";
  table.rows.push_back({"key", words + "end"});
  const std::string text = table_text(table);
  CHECK(text.find("\n     word") != std::string::npos);
  CHECK(text.find(std::string(101, 'x')) == std::string::npos);
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1)
    CHECK(text.find('\n', start) - start <= 100);
}

TEST_CASE("a table as Markdown keeps its columns") {
  CHECK(table_markdown(example_table()) ==
        "| device | memory | busy | name |\n"
        "|---|---|---|---|\n"
        "| cpu | 1.00 GiB | no | a\\|b |\n"
        "| cuda:10 | - | yes | µ \\x1b[31m |\n");
}

TEST_CASE("a table as JSON has raw values") {
  const auto json = nlohmann::json::parse(table_json(example_table()));
  REQUIRE(json.size() == 2);
  CHECK(json[0]["memory_bytes"] == Size{1} << 30);
  CHECK(json[0]["busy"] == false);
  CHECK(json[1]["memory_bytes"].is_null());
  CHECK(nlohmann::json::parse(tables_json({example_table()}))["devices"] == json);
}

TEST_CASE("JSON holds no number that it lacks and no text that is not UTF-8") {
  Table table{.name = "t", .columns = {{"a", "a"}, {"b", "b"}}};
  table.rows.push_back({std::numeric_limits<double>::quiet_NaN(), "\xFF"});
  const auto json = nlohmann::json::parse(table_json(table));
  CHECK(json[0]["a"].is_null());
  CHECK(json[0]["b"] == "\uFFFD");
}

}  // namespace ptbench
