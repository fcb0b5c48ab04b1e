// Walks the table: what is declared there is what parser, help and documents rely on.
#include "app/config/run_options.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "app/cli/argument_parser.h"
#include "src/base/text.h"
#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using testing::mentions;
using Words = std::vector<std::string>;

RunOptions parsed(const Words& words) {
  const OptionTable<RunOptions> table = run_option_table();
  return table.configure(parse_arguments(table.infos(), words).assignments);
}

std::string refusal(const Words& words) {
  return testing::refusal_of([&] { return parsed(words); });
}

bool is_plain(const std::string& text) {
  return std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; });
}

bool takes_any_text(const OptionInfo& option) {
  return option.domain.empty() && option.choices.empty();
}

}  // namespace

TEST_CASE("every option has what help and completions need") {
  std::set<std::string> names{"help"};
  std::set<char> letters{'h'};
  for (const OptionInfo& option : run_option_table().infos()) {
    INFO(option.name);
    CHECK(names.insert(option.name).second);
    CHECK((option.short_name == '\0' || letters.insert(option.short_name).second));
    CHECK(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos);
    CHECK_FALSE(option.help.empty());
    CHECK_FALSE(option.help.ends_with('.'));
    CHECK(is_plain(option.help + option.value + option.fallback + option.domain));
    CHECK_FALSE(option.group.empty());
    CHECK_FALSE(option.argument);
    // A number that is refused is refused together with one that is not.
    if (mentions(option.domain, "number"))
      CHECK(option.example.size() + option.fallback.size() > 0);
  }
  for (const OptionInfo& option : run_option_table().infos())
    for (const std::string& other : option.excludes) CHECK(names.contains(other));
}

TEST_CASE("a default that is a value is the configuration's own default") {
  const OptionTable<RunOptions> table = run_option_table();
  int values = 0;
  for (const OptionRow<RunOptions>& row : table.rows()) {
    INFO(row.info.name);
    RunOptions options;
    try {
      row.set(options, row.info, row.info.fallback);
    } catch (const Error&) {
      continue;  // "the workload's"
    }
    if (row.info.is_flag()) continue;
    ++values;
    CHECK(options == RunOptions{});
  }
  CHECK(values >= 9);
}

TEST_CASE("examples and choices are values") {
  const OptionTable<RunOptions> table = run_option_table();
  for (const OptionRow<RunOptions>& row : table.rows()) {
    INFO(row.info.name);
    RunOptions options;
    if (!row.info.example.empty()) CHECK_NOTHROW(row.set(options, row.info, row.info.example));
    for (const std::string& choice : row.info.choices)
      CHECK_NOTHROW(row.set(options, row.info, choice));
  }
}

TEST_CASE("the remedy of a refused value is a value, and one word of a shell") {
  const OptionTable<RunOptions> table = run_option_table();
  int remedies = 0;
  for (const OptionRow<RunOptions>& row : table.rows()) {
    INFO(row.info.name);
    if (row.info.is_flag()) continue;
    RunOptions options;
    try {
      row.set(options, row.info, "");
    } catch (const Error& error) {
      if (error.remedy().empty()) continue;
      const std::string before = "for instance " + row.info.spelling() + " ";
      REQUIRE(error.remedy().starts_with(before));
      const std::string word = error.remedy().substr(before.size());
      INFO(word);
      const bool is_quoted = word.starts_with('\'') && word.ends_with('\'');
      const std::string value = is_quoted ? word.substr(1, word.size() - 2) : word;
      CHECK(word == shell_word(value));
      CHECK_NOTHROW(row.set(options, row.info, value));
      ++remedies;
    }
  }
  CHECK(remedies >= 20);
}

TEST_CASE("what is not a value is refused with the option's name and what it takes") {
  for (const OptionInfo& option : run_option_table().infos()) {
    INFO(option.name);
    if (option.is_flag()) continue;
    CHECK(mentions(refusal({"--" + option.name + "="}), option.spelling() + " has no value"));
    CHECK(mentions(refusal({"--" + option.name}), option.spelling() + " has no value"));
    CHECK(mentions(refusal({"--" + option.name, "--seed", "1"}), " has no value"));
    if (takes_any_text(option)) continue;
    const std::string message = refusal({"--" + option.name, "\x1B[31m\xFF-nonsense"});
    CHECK(mentions(message, option.spelling() + " is '\\x1b[31m"));
    CHECK(mentions(message, option.domain.empty() ? option.choices.front() : option.domain));
  }
}

TEST_CASE("who names another tool's model is told of model files") {
  for (const char* name : {"vgg16", "model.onnx", "net.pt"}) {
    const std::string refused = refusal({"--workload", name});
    CHECK(mentions(refused, std::string("--workload is '") + name));
    CHECK(mentions(refused, "docs/models.md"));
  }
  CHECK(mentions(refusal({"--workload", "mpl"}), "did you mean 'mlp'?"));
}

TEST_CASE("numbers are read strictly") {
  for (const char* bad : {"nan", "inf", "-inf", "1e999", "0x10", " 1", "1 ", "1,5", "-1", "+1", ""})
    CHECK(mentions(refusal({std::string("--lr=") + bad}), "--lr"));
  for (const char* bad : {"0", "-1", "1.5", "1e3", "12x", "99999999999999999999", "nan", "1 000"})
    CHECK(mentions(refusal({"--batch-size", bad}), "a whole number from 1 to 10^12"));
  CHECK(mentions(refusal({"--seed", "18446744073709551616"}), "2^64 - 1"));
  CHECK(mentions(refusal({"--max-time", "0"}), "from 0.001 to 10^6"));
  CHECK(mentions(refusal({"--momentum", "1.01"}), "from 0 to 1"));

  CHECK(parsed({"--lr", "1e-3"}).lr == 1e-3);
  CHECK(parsed({"--lr", "0"}).lr == 0.0);
  CHECK(parsed({"--seed", "18446744073709551615"}).seed == 18446744073709551615U);
  CHECK(parsed({"-b", "1000000000"}).batch_size == 1000000000);
}

TEST_CASE("options are written in every usual way") {
  CHECK(parsed({}) == RunOptions{});
  CHECK(parsed({"--steps", "7"}).steps == 7);
  CHECK(parsed({"--steps=7"}).steps == 7);
  CHECK(parsed({"-b", "7"}).batch_size == 7);
  CHECK(parsed({"-b7"}).batch_size == 7);
  CHECK(parsed({"-w", "linear", "--json"}).json);
  CHECK_FALSE(parsed({"--shuffle", "off"}).shuffle);
  CHECK_FALSE(parsed({"--warmup", "auto"}).warmup);
  CHECK(parsed({"--warmup", "0"}).warmup == 0);
  CHECK(parsed({"--data", "[a,b]"}).data == "[a,b]");
  CHECK(parsed({"-o", "a.json", "-o", "-", "--output=b.csv"}).outputs ==
        Words{"a.json", "-", "b.csv"});
  CHECK(parsed({"--plan", "a=b"}).plan_file == "a=b");
  CHECK(parsed({"--plan", "\xFF\xFE"}).plan_file == "\xFF\xFE");
  CHECK(parsed({"--optimizer=adam", "--weight-decay=5e-4"}).weight_decay == 5e-4);
  CHECK(parsed({"--device", "cuda:0+12"}).device == "cuda:0+12");
}

TEST_CASE("what does not go together is refused") {
  CHECK(mentions(refusal({"-b", "1", "--global-batch", "2"}), "cannot be combined"));
  CHECK(mentions(refusal({"--epochs", "1", "--steps", "2"}), "cannot be combined"));
  CHECK(mentions(refusal({"-n", "1", "--nproc=2"}), "--nproc was given 2 times"));
  CHECK(mentions(refusal({"--json=false"}), "--json takes no value"));
  CHECK(mentions(refusal({"mlp"}), "unexpected argument 'mlp'"));
  CHECK(mentions(refusal({"--", "--seed"}), "unexpected argument '--seed'"));
  CHECK(mentions(refusal({"-"}), "unexpected argument '-'"));
}

TEST_CASE("slips of the finger get a suggestion") {
  CHECK(mentions(refusal({"--epocs", "3"}), "did you mean '--epochs'?"));
  CHECK(mentions(refusal({"--bach-size=3"}), "did you mean '--batch-size'?"));
  CHECK(mentions(refusal({"-epochs", "3"}), "did you mean '--epochs'?"));
  CHECK(mentions(refusal({"-w", "mpl"}), "did you mean 'mlp'?"));
  CHECK(mentions(refusal({"-s", "seiral"}), "did you mean 'serial'?"));
  CHECK(mentions(refusal({"--optimizer", "adamv"}), "did you mean 'adam"));
  CHECK(mentions(refusal({"--\xFF\xFE"}), "--help lists the options"));
  CHECK(mentions(refusal({"-o", "results.jsn"}), ".json"));
  CHECK(mentions(refusal({"-o", "results"}), "--output"));
}

TEST_CASE("an option that is hidden is taken, and suggested to nobody") {
  CHECK(parsed({"--pass", "first"}).orders.pass == RunPass::first);
  CHECK(parsed({"--pass=next"}).orders.pass == RunPass::next);
  CHECK(parsed({"--pass=prepare", "--keep-plan", "p.json"}).orders.keep_plan == "p.json");
  CHECK(parsed({"--progress-prefix", "repetition 3 of 5"}).orders.progress_prefix ==
        "repetition 3 of 5");
  CHECK(parsed({"--slowdown", "0.05"}).slowdown == 0.05);
  CHECK(mentions(refusal({"--pass", "all"}), "prepare, first, next"));
  CHECK(mentions(refusal({"--slowdwn", "1"}), "--help lists the options"));
}

TEST_CASE("noise is a share, or a percentage") {
  CHECK(parsed({"--target-noise", "0.01"}).target_noise == 0.01);
  CHECK(parsed({"--target-noise", "2.5%"}).target_noise == 0.025);
  CHECK(parsed({"--target-noise=100%"}).target_noise == 1.0);
  CHECK_FALSE(parsed({}).target_noise);
  for (const char* bad : {"0", "0%", "%", "1.5", "101%", "1%%", "1 %", "-1%", "nan", "nan%"})
    CHECK(mentions(refusal({std::string("--target-noise=") + bad}), "a share from 0.00001 to 1"));
}

TEST_CASE("repetitions have a number, and measuring a least and a largest time") {
  CHECK_FALSE(parsed({}).repeats);
  CHECK(parsed({"--repeats", "7"}).repeats == 7);
  CHECK(parsed({"--min-time", "0"}).min_time_seconds == 0);
  CHECK(mentions(refusal({"--repeats", "0"}), "a whole number from 1 to 1000"));
  CHECK(mentions(refusal({"--repeats", "1001"}), "--repeats"));
}

TEST_CASE("devices have a form") {
  for (const char* bad : {"gpu", "cuda:", "cuda:0+", "cuda:+1", "cuda:a", "cuda:0,1", "CPU"})
    CHECK(mentions(refusal({"--device", bad}), "--device is"));
  for (const char* good : {"cpu", "cuda", "auto", "cuda:0", "cuda:1+0"})
    CHECK(parsed({"--device", good}).device == good);
}

TEST_CASE("communicators have names, whatever this build has") {
  for (const char* good : {"auto", "shm", "mpi", "gloo", "shm+gloo", "nccl"})
    CHECK(parsed({"--communicator", good}).communicator == good);
  for (const char* bad : {"smh", "", "MPI", "shm,mpi"})
    CHECK(mentions(refusal({std::string("--communicator=") + bad}), "--communicator"));
  CHECK(mentions(refusal({"--communicator", "tcp"}),
                 "auto, shm, gloo, mpi, shm+gloo, shm+mpi, nccl"));
}

TEST_CASE("shares are one number a rank, joined by plus signs or commas") {
  using Shares = std::vector<Size>;
  CHECK(parsed({}).shares.empty());
  CHECK(parsed({"--shares", "96+32"}).shares == Shares{96, 32});
  CHECK(parsed({"--shares=96,32,1"}).shares == Shares{96, 32, 1});
  CHECK(parsed({"--shares", "1000000000"}).shares == Shares{1000000000});
  for (const char* bad : {"0", "96+", "+96", "96++32", "96+0", "96,,32", "96;32", "96 +32", "-1",
                          "1.5", "1e3", "1000000001", "99999999999999999999"})
    CHECK(mentions(refusal({std::string("--shares=") + bad}), "from 1 to 10^9 for each rank"));
  CHECK(mentions(refusal({"--shares", "9+3", "-b", "4"}), "cannot be combined"));
  CHECK(mentions(refusal({"--shares", "9+3", "--global-batch", "12"}), "cannot be combined"));
}

TEST_CASE("a slow rank has a number and a factor that is no less than one") {
  CHECK_FALSE(parsed({}).slow_rank);
  CHECK(parsed({"--slow-rank", "1:1.3"}).slow_rank == SlowRank{.rank = 1, .factor = 1.3});
  CHECK(parsed({"--slow-rank=0:1"}).slow_rank == SlowRank{.rank = 0, .factor = 1});
  for (const char* bad : {"1", "1:", ":2", ":", "1:0.99", "1:-2", "-1:2", "1:nan", "1:inf",
                          "1:1001", "1:2:3", "4096:2", "1.5:2", "a:2", "1 :2"})
    CHECK(mentions(refusal({std::string("--slow-rank=") + bad}), "a factor from 1 to 1000"));
}

TEST_CASE("help is asked for before anything is wrong") {
  const std::vector<OptionInfo> options = run_option_table().infos();
  CHECK(parse_arguments(options, {"--bogus", "--help"}).help);
  CHECK(parse_arguments(options, {"-h"}).help);
  CHECK_FALSE(parse_arguments(options, {"--seed", "1"}).help);
}

}  // namespace ptbench
