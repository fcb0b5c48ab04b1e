#include "app/cli/man_page.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "app/cli/command_table.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using Catch::Contains;

bool finds(const std::string& program) {
  const testing::ProgramResult found =
      testing::run_program({"/bin/sh", "-c", "command -v " + program});
  return found.exit_code == 0;
}

/// What `program` says of the page, as a file in the last argument.
testing::ProgramResult checked_by(std::vector<std::string> program) {
  const testing::TemporaryDirectory directory;
  program.push_back(directory.write("ptbench.1", man_page(command_table())));
  program.insert(program.begin(), {"/usr/bin/env", "LC_ALL=C.UTF-8"});
  return testing::run_program(program);
}

}  // namespace

TEST_CASE("the manual page has every command and option that is shown", "[cli]") {
  const std::string page = man_page(command_table());
  CHECK_THAT(page, Contains(".TH PTBENCH 1") && Contains(".SH NAME\nptbench \\- "));
  for (const Command& command : command_table()) {
    INFO(command.name);
    CHECK_THAT(page, Contains(".SS ptbench " + roff_text(command.name) + "\n"));
    for (const OptionInfo& option : command.options) {
      INFO(option.name);
      const std::string term = "\\fB" + roff_text(option.spelling()) + "\\fR";
      if (!option.argument) CHECK((page.find(term) != std::string::npos) == !option.hidden);
    }
  }
}

TEST_CASE("roff takes texts as they are", "[cli]") {
  CHECK(roff_text("--batch-size B") == "\\-\\-batch\\-size B");
  CHECK(roff_text(".so /etc/passwd") == "\\&.so /etc/passwd");
  CHECK(roff_text("'\\n(.g") == "\\(aq\\en(.g");
  CHECK(roff_text("a\nb") == "a\\ex0ab");
  CHECK(roff_text("± ≤ 😀") == "\\[u00B1] \\[u2264] \\[u1F600]");
}

TEST_CASE("no line of the manual page is a request that is not meant", "[cli]") {
  std::istringstream lines(man_page(command_table()));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK_FALSE(line.empty());
    CHECK_FALSE(line.starts_with('\''));
    if (line.starts_with('.'))
      CHECK((line.starts_with(".\\\"") || line.starts_with(".TH ") || line.starts_with(".SH ") ||
             line.starts_with(".SS ") || line == ".TP" || line == ".PP" ||
             line.starts_with(".B ") || line.starts_with(".I ") || line.starts_with(".RI ")));
  }
}

TEST_CASE("groff formats the manual page without a warning", "[cli]") {
  if (!finds("groff")) testing::skip("groff is not installed");
  const testing::ProgramResult result = checked_by({"groff", "-man", "-Tutf8", "-ww", "-z"});
  CHECK(result.exit_code == 0);
  CHECK(result.errors.empty());
}

TEST_CASE("mandoc finds nothing to warn of in the manual page", "[cli]") {
  if (!finds("mandoc")) testing::skip("mandoc is not installed");
  const testing::ProgramResult result = checked_by({"mandoc", "-Tlint", "-Wwarning"});
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace ptbench
