#include "page/html.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/page/page_records.h"

namespace ptbench {
namespace {

using Catch::Contains;

}  // namespace

TEST_CASE("texts keep within elements and attributes", "[page]") {
  CHECK(html_text("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c&#39;");
  CHECK(html_text("tab\tend\n\x1b") == "tab\\x09end\\x0a\\x1b");
  CHECK(html_text("caf\xe9") == "caf\xef\xbf\xbd");
  const std::string hostile = html_text(testing::hostile_text());
  CHECK(hostile.find_first_of("<>\"'") == std::string::npos);
}

TEST_CASE("data that scripts read cannot end their element", "[page]") {
  const nlohmann::ordered_json value{{testing::hostile_text(), testing::hostile_text()},
                                     {"bytes", "caf\xe9"}};
  const std::string json = script_json(value);
  CHECK(json.find_first_of("<>&") == std::string::npos);
  CHECK_FALSE(std::ranges::any_of(json, [](char letter) {
    return static_cast<unsigned char>(letter) >= 0x7F || letter == '\n';
  }));
  const nlohmann::ordered_json read = nlohmann::ordered_json::parse(json);
  CHECK(read.begin().key() == testing::hostile_text());
  CHECK(read.begin().value() == testing::hostile_text());
}

TEST_CASE("a drawing stands whole in an address", "[page]") {
  const std::string url = svg_url("<svg a=\"1\" b='#2'>\n100 %&amp;\xc3\xa4</svg>");
  CHECK(url ==
        "data:image/svg+xml;charset=utf-8,%3Csvg a=%221%22 b='%232'%3E%20100 "
        "%25%26amp;%C3%A4%3C/svg%3E");
}

TEST_CASE("a drawing is written without what shows nothing", "[page]") {
  CHECK(compact_svg(
            "<svg>\n\n<g a='1'>\n\t<g>\n</g>\n</g>\n<g b='2'>\t<path  d='M1,2\n3'/></g>\n</svg>") ==
        "<svg> <g b='2'> <path d='M1,2 3'/></g> </svg>");
  CHECK(compact_svg("<g>text</g></g>") == "<g>text</g></g>");
  CHECK(compact_svg("") == "");
}

TEST_CASE("a command is written as a shell takes it", "[page]") {
  const std::vector<std::string> words{"./ptbench", "-o", "my file.json", "it's", "", "$HOME"};
  CHECK(shell_line(words) == "./ptbench -o 'my file.json' 'it'\\''s' '' '$HOME'");
}

TEST_CASE("a table names its rows and columns and what they are sorted by", "[page]") {
  const std::string html =
      html_table({.caption = "a & b",
                  .columns = {{.heading = "name"}, {.heading = "figure", .is_number = true}},
                  .rows = {{{.text = "<one>"}, {.text = "21.3 k", .sort = "21300"}}},
                  .is_sortable = true});
  CHECK_THAT(html, Contains("<caption>a &amp; b</caption>"));
  CHECK_THAT(html, Contains("<th scope=\"col\" class=\"number\">figure</th>"));
  CHECK_THAT(html, Contains("<th scope=\"row\">&lt;one&gt;</th>"));
  CHECK_THAT(html, Contains("<td class=\"number\" data-sort=\"21300\">21.3 k</td>"));
}

TEST_CASE("a section without content is none", "[page]") {
  CHECK(html_section("runs", "Runs", "").empty());
  CHECK_THAT(html_section("runs", "Runs", "x"), Contains("aria-labelledby=\"runs-heading\""));
}

}  // namespace ptbench
