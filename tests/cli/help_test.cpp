#include "app/cli/help.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "app/cli/argument_parser.h"
#include "app/cli/command_table.h"
#include "reports/wrap.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

void check_shape(const std::string& text) {
  CHECK(text.ends_with('\n'));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(code_points(line) <= kHelpWidth);
    CHECK_FALSE(line.ends_with(' '));
  }
}

/// The words of an example of ptbench, without redirections and pipes.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word && word != "|";) words.push_back(word);
  return words;
}

}  // namespace

TEST_CASE("help is no wider than a terminal and names every option with its default") {
  const std::vector<Command> commands = command_table();
  check_shape(overview_text(commands));
  for (const Command& command : commands) {
    INFO(command.name);
    const std::string text = command_text(command);
    check_shape(text);
    CHECK(overview_text(commands).find("  " + command.name + " ") != std::string::npos);
    for (const OptionInfo& option : command.options) {
      INFO(option.name);
      CHECK((text.find(option.spelling()) == std::string::npos) == option.hidden);
      if (option.hidden) continue;
      if (!option.fallback.empty())
        CHECK(text.find("[default: " + option.fallback + "]") != std::string::npos);
    }
  }
}

TEST_CASE("every command teaches with examples that its parser takes") {
  for (const Command& command : command_table()) {
    INFO(command.name);
    CHECK_FALSE(command.summary.empty());
    CHECK_FALSE(command.examples.empty());
    for (const Example& example : command.examples) {
      INFO(example.line);
      CHECK_FALSE(example.purpose.empty());
      if (!example.line.starts_with("ptbench ")) continue;  // what a shell makes of it
      const std::vector<std::string> words = words_of(example.line);
      REQUIRE(words.at(1) == command.name);
      const ParsedArguments parsed =
          parse_arguments(command.options, {words.begin() + 2, words.end()});
      CHECK_NOTHROW(check_assignments(command.options, parsed.assignments));
    }
  }
}

TEST_CASE("usage shows which arguments a command takes") {
  const std::vector<Command> commands = command_table();
  CHECK(usage_line(find_command(commands, "run")) == "ptbench run [options]");
  CHECK(usage_line(find_command(commands, "list")) == "ptbench list [options] [CATALOG]");
  CHECK(usage_line(find_command(commands, "validate")) == "ptbench validate [options] FILE...");
}

TEST_CASE("an unknown command gets a suggestion") {
  const std::vector<Command> commands = command_table();
  try {
    (void)find_command(commands, "lsit");
    FAIL("it was found");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    CHECK(error.remedy() == "did you mean 'list'?");
  }
}

}  // namespace ptbench
