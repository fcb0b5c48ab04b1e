#include "src/config/run_arguments.h"

#include <catch2/catch.hpp>
#include <set>

#include "src/cli/argument_parser.h"
#include "src/cli/command.h"
#include "src/config/run_options.h"

namespace ptbench {
namespace {

using Words = std::vector<std::string>;

/// What `words` on the command line hand on.
RunArguments passed_on(const Words& words) {
  const std::vector<OptionInfo> options = run_option_table().infos();
  return pass_on(named_assignments(options, parse_arguments(options, words).assignments));
}

}  // namespace

TEST_CASE("a process gets what the user gave, word by word") {
  const RunArguments arguments =
      passed_on({"-w", "linear", "-b7", "--shuffle", "off", "--lr=1e-3", "--data", "a b=c",
                 "--initial-weights", "start.safetensors", "--verify", "on", "--slowdown", "0.1"});
  CHECK(arguments.common == Words{"--workload=linear", "--batch-size=7", "--lr=1e-3",
                                  "--data=a b=c", "--shuffle=off", "--verify=on",
                                  "--initial-weights=start.safetensors", "--slowdown=0.1"});
  CHECK(arguments.first.empty());
}

TEST_CASE("a process gets nothing that is the session's or the user's own process's") {
  const RunArguments arguments = passed_on({"-o",     "a.json",      "-o",     "b.csv",
                                            "--json", "--repeats",   "3",      "--target-noise",
                                            "1%",     "--min-time",  "1",      "--max-time",
                                            "2",      "--plan",      "p.json", "--pass",
                                            "first",  "--keep-plan", "k.json", "--progress-prefix",
                                            "text"});
  CHECK(arguments.common.empty());
  CHECK(arguments.first.empty());
}

TEST_CASE("files that training writes are the first repetition's") {
  const RunArguments arguments =
      passed_on({"--loss-log", "l.csv", "--save-initial-weights", "s.safetensors",
                 "--save-final-weights", "f.safetensors", "--trace", "t", "--trace-steps", "2:3"});
  CHECK(arguments.common.empty());
  CHECK(arguments.first == Words{"--loss-log=l.csv", "--save-initial-weights=s.safetensors",
                                 "--save-final-weights=f.safetensors", "--trace=t",
                                 "--trace-steps=2:3"});
}

TEST_CASE("what is passed on is parsed to the same again") {
  const OptionTable<RunOptions> table = run_option_table();
  for (const OptionRow<RunOptions>& row : table.rows()) {
    const OptionInfo& option = row.info;
    INFO(option.name);
    const std::string text = option.is_flag()           ? ""
                             : !option.example.empty()  ? option.example
                             : !option.choices.empty()  ? option.choices.front()
                             : !option.fallback.empty() ? option.fallback
                                                        : "a file";
    const std::vector<NamedAssignment> given{{option.name, text}};
    const RunArguments arguments = pass_on(given);
    Words words = arguments.common;
    words.insert(words.end(), arguments.first.begin(), arguments.first.end());
    if (words.empty()) continue;
    CHECK(named_assignments(table.infos(), parse_arguments(table.infos(), words).assignments) ==
          given);
  }
}

TEST_CASE("a configuration that wants to know gets what was assigned, by name") {
  std::vector<NamedAssignment> seen;
  const Command command = with_options<RunOptions>(
      {.name = "run", .options = {}}, run_option_table(), [&](const RunOptions& options) {
        seen = options.assignments;
        return ExitCode::ok;
      });
  const Words words{"--json", "-w", "linear"};
  CHECK(command.run(parse_arguments(command.options, words).assignments, words) == ExitCode::ok);
  CHECK(seen == std::vector<NamedAssignment>{{"workload", "linear"}, {"json", ""}});
}

}  // namespace ptbench
