#include "app/cli/completions.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "app/cli/command_table.h"
#include "tests/support/program.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using testing::mentions;

/// What bash offers for the last of `words` (bash splits words at '=' before it asks).
std::string offered(const std::vector<std::string>& words) {
  const testing::TemporaryDirectory directory;
  std::string script = bash_completions(command_table());
  script += "COMP_WORDS=(";
  for (const std::string& word : words) script += " '" + word + "'";
  script += " )\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_ptbench\necho \"${COMPREPLY[*]}\"\n";
  const testing::ProgramResult result =
      testing::run_program({"/bin/bash", "-u", directory.write("script", script)});
  CHECK(result.errors.empty());
  return result.output.substr(0, result.output.find('\n'));
}

}  // namespace

TEST_CASE("every shell is told every command, option and choice") {
  const std::vector<Command> commands = command_table();
  const std::string bash = bash_completions(commands);
  const std::string zsh = zsh_completions(commands);
  const std::string fish = fish_completions(commands);
  for (const Command& command : commands) {
    INFO(command.name);
    for (const std::string* script : {&bash, &zsh, &fish}) CHECK(mentions(*script, command.name));
    for (const OptionInfo& option : command.options) {
      INFO(option.name);
      if (option.hidden) {
        for (const std::string* script : {&bash, &zsh})
          CHECK_FALSE(mentions(*script, option.spelling()));
        CHECK_FALSE(mentions(fish, "-l " + option.name));
        continue;
      }
      if (!option.argument) {
        CHECK(mentions(bash, option.spelling()));
        CHECK(mentions(zsh, option.spelling()));
        CHECK(mentions(fish, "-l " + option.name));
      }
      for (const std::string& choice : option.choices)
        for (const std::string* script : {&bash, &zsh, &fish}) CHECK(mentions(*script, choice));
    }
  }
  CHECK(zsh.starts_with("#compdef ptbench\n"));
}

TEST_CASE("bash offers commands, options and values") {
  CHECK(offered({"ptbench", "val"}) == "validate");
  CHECK(mentions(offered({"ptbench", ""}),
                 "run sweep chart compare gate comm launch export trace-merge list doctor"));
  CHECK(offered({"ptbench", "run", "--weight"}) == "--weight-decay");
  CHECK(offered({"ptbench", "run", "-w", ""}) == "linear mlp resnet18 resnet50");
  CHECK(offered({"ptbench", "run", "--optimizer", "=", "adamw"}) == "adamw");
  CHECK(offered({"ptbench", "run", "--shuffle", "="}) == "on off");
  CHECK(offered({"ptbench", "run", "--steps", ""}).empty());
  CHECK(offered({"ptbench", "completions", "f"}) == "fish");
}

TEST_CASE("bash offers files, with blanks in their names too") {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.write("a file.json", "{}");
  const std::string start = (directory.path() / "a").string();
  CHECK(offered({"ptbench", "validate", start}) == file);
  CHECK(offered({"ptbench", "run", "-o", start}) == file);
  CHECK(offered({"ptbench", "run", "--data", start}).empty());
}

}  // namespace ptbench
