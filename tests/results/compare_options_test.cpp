#include "app/results/compare_options.h"

#include <catch2/catch.hpp>

#include "app/cli/argument_parser.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using Words = std::vector<std::string>;
using Catch::Contains;

CompareConfig config_of(const Words& words) {
  const OptionTable<CompareConfig> table = compare_option_table();
  return table.configure(parse_arguments(table.infos(), words).assignments);
}

/// What is said of a command line that is wrong.
std::string complaint_about(const Words& words) {
  try {
    (void)sides_of(config_of(words));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK_FALSE(error.remedy().empty());
    return error.what();
  }
  FAIL("it was taken");
  return {};
}

}  // namespace

TEST_CASE("two files are BASE and NEW", "[app]") {
  const CompareConfig config = config_of({"a.json", "b.json"});
  CHECK(config.comparison.detect == 0.05);
  CHECK_FALSE(config.comparison.ignore_environment);
  const ComparedSides sides = sides_of(config);
  CHECK(sides.base == Words{"a.json"});
  CHECK(sides.fresh == Words{"b.json"});
}

TEST_CASE("further files join their sides", "[app]") {
  const ComparedSides sides =
      sides_of(config_of({"a", "--new", "d", "b", "--base", "c", "--new", "e"}));
  CHECK(sides.base == Words{"a", "c"});
  CHECK(sides.fresh == Words{"b", "d", "e"});
  const ComparedSides named = sides_of(config_of({"--base", "a", "--new", "b"}));
  CHECK(named.base == Words{"a"});
  CHECK(named.fresh == Words{"b"});
}

TEST_CASE("a history takes the place of BASE", "[app]") {
  const CompareConfig config = config_of(
      {"--history", "h.jsonl", "b", "--new", "c", "--last", "3", "--append", "--anchor", "5"});
  CHECK(config.last == 3);
  CHECK(config.anchor == 5);
  CHECK(config.append);
  const ComparedSides sides = sides_of(config);
  CHECK(sides.base.empty());
  CHECK(sides.fresh == Words{"b", "c"});
}

TEST_CASE("too few and too many files are refused", "[app]") {
  CHECK_THAT(complaint_about({}), Contains("0 were given"));
  CHECK_THAT(complaint_about({"a"}), Contains("1 was given"));
  CHECK_THAT(complaint_about({"a", "b", "c"}), Contains("3 were given"));
  CHECK_THAT(complaint_about({"--base", "a"}), Contains("0 were given"));
  CHECK_THAT(complaint_about({"--history", "h.jsonl"}), Contains("NEW is missing"));
  CHECK_THAT(complaint_about({"--history", "h.jsonl", "a", "b"}), Contains("2 files"));
}

TEST_CASE("options of a history need one", "[app]") {
  CHECK_THAT(complaint_about({"a", "b", "--append"}), Contains("--append needs a history"));
  CHECK_THAT(complaint_about({"a", "b", "--last", "3"}), Contains("--last needs a history"));
  CHECK_THAT(complaint_about({"a", "b", "--anchor", "3"}), Contains("--anchor needs a history"));
  CHECK_THAT(complaint_about({"a", "--history", "h.jsonl", "--anchor", "2"}), Contains("--anchor"));
  CHECK_THAT(complaint_about({"a", "b", "--accept"}), Contains("--accept needs --append"));
  CHECK_THAT(complaint_about({"a", "--history", "h.jsonl", "--accept"}),
             Contains("--accept needs --append"));
  CHECK_THAT(complaint_about({"a", "--history", "h", "--base", "b"}),
             Contains("cannot be combined"));
  CHECK(config_of({"a", "--history", "h.jsonl", "--append", "--accept"}).accept);
}

TEST_CASE("a history ends in .jsonl", "[app]") {
  for (const char* name : {"h", "h.json", "jsonl", "h.jsonl.json"})
    CHECK_THAT(complaint_about({"a", "--history", name}), Contains("does not end in .jsonl"));
}

TEST_CASE("the smallest change that matters is a share, or per cent", "[app]") {
  CHECK(config_of({"--detect", "0.03"}).comparison.detect == 0.03);
  CHECK(config_of({"--detect", "3%"}).comparison.detect == 0.03);
  CHECK(config_of({"--detect=0.1%"}).comparison.detect == 0.001);
  for (const char* text : {"0", "-1", "5 %", "%", "1.1", "101%", "nan", "inf", "many"}) {
    INFO(text);
    CHECK_THAT(complaint_about({"a", "b", "--detect", text}), Contains("--detect"));
  }
}

TEST_CASE("a self-check has no sides", "[app]") {
  CHECK(config_of({"--self-check", "a", "b", "c"}).files.size() == 3);
  for (const Words& words :
       {Words{"--self-check", "--history", "h"}, Words{"--self-check", "--base", "a"},
        Words{"--self-check", "--strict"}, Words{"--self-check", "-o", "a.md"},
        Words{"--self-check", "--last", "3"}, Words{"--self-check", "--anchor", "3"},
        Words{"--self-check", "--append"}, Words{"--self-check", "--accept"},
        Words{"--self-check", "--new", "a"}, Words{"--self-check", "--ignore-environment"}})
    CHECK_THAT(complaint_about(words), Contains("cannot be combined"));
}

}  // namespace ptbench
