// What users get wrong, and what machines do: one clear error, the contract's exit code, nothing
// half-written.
#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <utility>

#include "src/base/hash.h"
#include "tests/run/command.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;

struct CommandMistake {
  std::vector<std::string> arguments;
  int exit_code;
  std::string says;
};

TEST_CASE("mistakes on the command line", "[run]") {
  const std::vector<CommandMistake> mistakes{
      {{"-w", "mpl"}, 1, "did you mean 'mlp'?"},
      {{"-w", "LINEAR"}, 1, "did you mean 'linear'?"},
      {{"-s", "DDP_flat", "-n", "2"}, 1, "did you mean 'ddp-flat'?"},
      {{"-s", "seriel"}, 1, "did you mean 'serial'?"},
      {{"--stesp", "3"}, 1, "did you mean '--steps'?"},
      {{"-n", "2"}, 1, "--nproc 2"},
      {{"-b", "0"}, 1, "--batch-size"},
      {{"-b", "-3"}, 1, "--batch-size"},
      {{"-b", "1000000000"}, 1, "use --batch-size"},
      {{"-b", "99999999999999999999"}, 1, "--batch-size"},
      {{"--samples", "1000000000000"}, 1, "needs about"},
      {{"--lr", "nan"}, 1, "--lr"},
      {{"--lr", "inf"}, 1, "--lr"},
      {{"--lr", "0.1x"}, 1, "--lr"},
      {{"--lr", "-1"}, 1, "--lr"},
      {{"-b", "4", "--global-batch", "8"}, 1, "--global-batch"},
      {{"--steps", "3", "--epochs", "3"}, 1, "--epochs"},
      {{"--epochs", "1", "--warmup", "1000"}, 1, "--warmup 1000"},
      {{"--samples", "5", "-b", "6"}, 1, "6"},
      {{"-w", "linear", "--momentum", "0.9"}, 1, "--momentum"},
      {{"--optimizer", "adma"}, 1, "did you mean 'adam'?"},
      {{"--precision", "fp16"}, 5, "--precision fp16"},
      {{"--precision", "tf32"}, 5, "--precision tf32"},
      {{"-s", "amp", "--precision", "fp32"}, 1, "amp"},
      {{"--accumulate", "0"}, 1, "--accumulate"},
      {{"--accumulate", "3", "--global-batch", "128"}, 1, "the nearest possible one is 129"},
      {{"--loss-scale", "much"}, 1, "--loss-scale"},
      {{"--loss-scale", "0"}, 1, "--loss-scale"},
      {{"--verify", "yes"}, 1, "--verify"},
      {{"--verify", "only", "--loss-log", "l.csv"}, 1, "--verify only"},
      {{"--target-accuracy", "0.9"}, 1, "add --epochs"},
      {{"--target-accuracy", "2", "--epochs", "1"}, 1, "--target-accuracy"},
      {{"--data-workers", "-1"}, 1, "--data-workers"},
      {{"-w", "absent.json"}, 1, "absent.json"},
      {{"-w", "resnet18", "--data", PTBENCH_TEST_DATA "/digits"}, 1, "3x32x32"},
      {{"--precision", "fp8"}, 1, "--precision"},
      {{"--device", "tpu"}, 1, "--device"},
      {{"--data", "nowhere"}, 1, "nowhere"},
      {{"--data", ".", "--samples", "5"}, 1, "--samples"},
      {{"--data", "."}, 1, "train-images-idx3-ubyte"},
      {{"-w", "linear", "--data", PTBENCH_TEST_DATA "/digits"}, 1, "label"},
      {{"-o", "result.txt"}, 1, "result.txt"},
      {{"-o", "nowhere/result.json"}, 1, "nowhere"},
      {{"-o", "a.json", "-o", "./a.json"}, 1, "a.json"},
      {{"--loss-log", "nowhere/loss.csv"}, 1, "nowhere"},
      {{"--save-final-weights", "nowhere/w.safetensors"}, 1, "nowhere"},
      {{"--initial-weights", "absent.safetensors"}, 1, "absent.safetensors"},
      {{"--threads", "0"}, 1, "--threads"},
      {{"--output"}, 1, "--output"},
      {{"surplus"}, 1, "surplus"},
  };
  const RunCommand run;
  for (const CommandMistake& mistake : mistakes) {
    std::string line;
    for (const std::string& word : mistake.arguments) line += word + " ";
    CAPTURE(line);
    const ProgramResult result = run(mistake.arguments);
    CAPTURE(result.errors);
    CHECK(result.exit_code == mistake.exit_code);
    CHECK_THAT(result.errors, Contains(mistake.says) && Contains("ptbench: error: "));
    CHECK_THAT(result.errors, Contains("ptbench: remedy: "));
    CHECK(result.output.empty());
    CHECK(run.partial_files() == 0);
  }
}

TEST_CASE("broken plan files are refused and left alone", "[run]") {
  const RunCommand run;
  for (const char* content :
       {"", "{", "[]", R"({"schema": "ptbench.plan/1"})",
        R"({"schema": "ptbench.plan/1", "choices": {}, "fingerprint": "another machine"})",
        R"({"schema": "other", "choices": {}})"}) {
    CAPTURE(content);
    run.write("plan.json", content);
    const ProgramResult result = run({"-w", "linear", "--steps", "3", "--plan", "plan.json"});
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains("plan.json"));
    CHECK(run.text("plan.json") == content);
  }
}

TEST_CASE("what is no regular file is no plan, and nothing waits for it", "[run]") {
  const RunCommand run;
  std::filesystem::create_directory(run.path("folder.json"));
  REQUIRE(mkfifo(run.path("pipe.json").c_str(), 0600) == 0);
  run.write("large.json", "{");
  std::filesystem::resize_file(run.path("large.json"), 1ULL << 30);
  for (const char* file : {"folder.json", "pipe.json", "large.json", "/dev/null"}) {
    CAPTURE(file);
    const ProgramResult result = run({"-w", "linear", "--steps", "3", "--plan", file});
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains(file) && Contains("ptbench: remedy: "));
  }
}

TEST_CASE("whatever names a file to be read names a regular one of a sane length", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--steps", "3", "-o", "good.json"}).exit_code == 0);
  std::filesystem::create_directory(run.path("folder.json"));
  const std::vector<std::string> linear{"run", "-w", "linear", "--steps", "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), linear.begin(), linear.end());
    return more;
  };
  for (const std::string file : {"/dev/zero", "/dev/null", "folder.json", "absent/file.json"}) {
    std::vector<std::vector<std::string>> commands{with({"--initial-weights", file}),
                                                   {"compare", file, "good.json"},
                                                   {"compare", "good.json", file},
                                                   {"chart", file, "-o", "c.html"},
                                                   {"export", file, "-f", "jsonl"},
                                                   {"validate", file},
                                                   {"trace-merge", file}};
    if (file.ends_with(".json")) commands.push_back({"run", "-w", file, "--steps", "3"});
    if (file != "folder.json") commands.push_back(with({"--data", file}));
    if (!file.starts_with("absent"))
      commands.push_back({"compare", "good.json", "--history", file});
    for (std::vector<std::string>& command : commands) {
      CAPTURE(file, command);
      command.insert(command.begin(), PTBENCH_EXECUTABLE);
      const ProgramResult result = run_program(command, {.folder = run.path(".")});
      CHECK(result.exit_code == 1);
      CHECK_THAT(result.errors, Contains(file) && Contains("ptbench: remedy: "));
    }
  }
}

TEST_CASE("a result may come through a pipe", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--steps", "3", "-o", "good.json"}).exit_code == 0);
  for (const char* command : {"validate <(cat good.json)", "validate /dev/stdin < good.json",
                              "export <(cat good.json) -f jsonl"}) {
    CAPTURE(command);
    const ProgramResult result =
        run_program({"/bin/bash", "-c", std::string(PTBENCH_EXECUTABLE) + " " + command},
                    {.folder = run.path(".")});
    CAPTURE(result.errors);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("an output that is a pipe is refused before anything is measured", "[run]") {
  const RunCommand run;
  const std::string option =
      GENERATE("--output", "--loss-log", "--save-initial-weights", "--save-final-weights");
  REQUIRE(mkfifo(run.path("pipe.json").c_str(), 0600) == 0);
  const ProgramResult result = run({"-w", "linear", "--steps", "1000000000", option, "pipe.json"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors,
             Contains("cannot write 'pipe.json': it is a pipe") && Contains("ptbench: remedy: "));
}

TEST_CASE("validate tells each file that it cannot read, and checks the others", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--steps", "3", "-o", "good.json"}).exit_code == 0);
  std::filesystem::create_directory(run.path("folder.json"));
  run.write("cut.json", "{");
  run.write("twice.json", R"({"schema": 1, "schema": 2})");
  run.write("large.json", "{");
  std::filesystem::resize_file(run.path("large.json"), 1ULL << 30);
  const ProgramResult result =
      run_program({PTBENCH_EXECUTABLE, "validate", "absent.json", "folder.json", "cut.json",
                   "twice.json", "large.json", "good.json"},
                  {.folder = run.path("")});
  CHECK(result.exit_code == 1);
  CHECK(result.output == "good.json: valid\n");
  for (const char* complaint :
       {"'absent.json' cannot be read: No such file", "'folder.json' cannot be read: it is a",
        "'cut.json' is not JSON: line 1, column 2", "'twice.json' has /schema twice",
        "'large.json' has 1.00 GiB, more than the 512 MiB", "ptbench: remedy: split its runs"})
    CHECK_THAT(result.errors, Contains(complaint));
  CHECK_THAT(result.errors, !Contains("json.exception"));
}

// Who watches memory needs more of it than the limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a result that needs more memory than there is is one clear error", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--steps", "3", "-o", "good.json"}).exit_code == 0);
  std::string elements = "{}";
  while (elements.size() < (8U << 20U)) elements += "," + elements;
  run.write("wide.json",
            R"({"schema": "ptbench.result/1", "runs": [{"id": "a", "x": [)" + elements + "]}]}");
  for (const std::string command :
       {"validate wide.json good.json", "compare wide.json good.json"}) {
    CAPTURE(command);
    const ProgramResult result =
        run_program({"/bin/bash", "-c",
                     "ulimit -v 400000; exec " + std::string(PTBENCH_EXECUTABLE) + " " + command},
                    {.folder = run.path("")});
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.errors, Contains("'wide.json' needs more memory than there is") &&
                                  Contains("ptbench: remedy: split its runs"));
    CHECK((result.output == "good.json: valid\n") == command.starts_with("validate"));
  }
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a limit of addresses is named where it is the reason", "[run]") {
  const RunCommand run;
  const auto limited = [&](const std::string& kibibytes, const std::string& arguments) {
    return run_program(
        {"/bin/bash", "-c",
         "ulimit -v " + kibibytes + "; exec " + PTBENCH_EXECUTABLE + " run " + arguments},
        {.folder = run.path(""), .environment = {"XDG_CACHE_HOME=" + run.path("cache").string()}});
  };
  // Two ranks of 22 parameters.
  const ProgramResult small = limited("1048576", "-w linear -s ddp -n 2 --threads 1 --steps 3");
  CAPTURE(small.errors);
  CHECK(small.exit_code == 0);
  const ProgramResult large = limited("400000", "-w resnet50 --threads 1 --steps 3");
  CHECK(large.exit_code == 1);
  CHECK_THAT(large.errors, Contains("ptbench: remedy: raise the limit of this process's addresses, "
                                    "ulimit -v, which is 400000 KiB"));
}
#endif

TEST_CASE("a plan that names a way which does not exist is refused", "[run]") {
  const RunCommand run;
  const std::vector<std::string> arguments{"-w", "linear", "--steps", "3", "--plan", "plan.json"};
  REQUIRE(run(arguments).exit_code == 0);
  nlohmann::json plan = run.json("plan.json");
  plan["choices"]["linear b32 10->2 first"] = "magic";
  run.write("plan.json", plan.dump());
  const ProgramResult result = run(arguments);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("magic"));
}

TEST_CASE("a cache that names a way which does not exist is chosen anew", "[run]") {
  const RunCommand run;
  const std::vector<std::string> arguments{"-w", "linear", "--steps", "3"};
  REQUIRE(run({"-w", "linear", "--steps", "3", "--plan", "plan.json"}).exit_code == 0);
  nlohmann::json plan = run.json("plan.json");
  plan["choices"]["linear b32 10->2 first"] = GENERATE("magic", "magic \x1b[2J");
  const std::string fingerprint = plan["fingerprint"].get<std::string>();
  std::filesystem::create_directories(run.path("cache/ptbench"));
  run.write(fmt::format("cache/ptbench/plan-{:016x}.json", fnv1a(fingerprint)), plan.dump());
  const ProgramResult result = run(arguments);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.errors + result.output, !Contains("magic") && !Contains("\x1b"));
}

TEST_CASE("what a plan file holds reaches no terminal as it is", "[run]") {
  const RunCommand run;
  REQUIRE(run({"-w", "linear", "--steps", "3", "--plan", "plan.json"}).exit_code == 0);
  nlohmann::json plan = run.json("plan.json");
  plan["choices"]["linear b32 10->2 first"] = "magic \x1b[2J";
  run.write("plan.json", plan.dump());
  const ProgramResult result = run({"-w", "linear", "--steps", "3", "--plan", "plan.json"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("plan.json") && !Contains("\x1b"));
}

TEST_CASE("more ranks than fit are refused at once, and not for their samples", "[run]") {
  const RunCommand run;
  const ProgramResult result = run({"-w", "resnet50", "-s", "ddp", "-n", "1024"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("--nproc 1024") && Contains("--oversubscribe"));
  const ProgramResult wanted =
      run({"-w", "resnet50", "-s", "ddp", "-n", "1024", "-b", "64", "--oversubscribe"});
  CHECK(wanted.exit_code == 1);
  CHECK_THAT(wanted.errors, Contains("--nproc 1024: batch 64 of 'resnet50'") &&
                                Contains("use --nproc ") && !Contains("fewer --samples"));
}

TEST_CASE("a full disk leaves the old result as it was", "[run]") {
  const RunCommand run;
  run.write("r.json", "old");
  const std::string command = std::string("ulimit -f 1; exec ") + PTBENCH_EXECUTABLE +
                              " run -w linear --steps 2000 -o r.json";
  const ProgramResult result = run_program({"/bin/bash", "-c", command}, {.folder = run.path("")});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("r.json") && Contains("ulimit -f"));
  CHECK(run.text("r.json") == "old");
  CHECK(run.partial_files() == 0);
}

TEST_CASE("a limit of file sizes that keeps ranks from sharing memory is named", "[run]") {
  const RunCommand run;
  const std::string command = std::string("ulimit -f 100; exec ") + PTBENCH_EXECUTABLE +
                              " run -w linear -s ddp -n 2 --threads 1 --steps 3";
  const ProgramResult result = run_program({"/bin/bash", "-c", command}, {.folder = run.path("")});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors,
             Contains("no shared memory") && Contains("ulimit -f") && !Contains("ulimit -n"));
}

TEST_CASE("standard output that cannot be written is an error", "[run]") {
  const ProgramResult result = run_program(
      {"/bin/bash", "-c",
       std::string(PTBENCH_EXECUTABLE) + " run -w linear --steps 5 --json > /dev/full"});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.errors, Contains("standard output"));
}

TEST_CASE("signals keep what was measured", "[run]") {
  (void)std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
  const std::string signal = GENERATE("INT", "TERM", "HUP");
  const RunCommand run;
  // Far longer than anyone waits; the signal comes once the loss log, which has no name yet, shows
  // that steps are run. The program takes the shell's place, since shells let their background jobs
  // ignore SIGINT.
  const std::string command =
      "(for i in $(seq 400); do sleep 0.02; grep -qs ^9, /dev/null $(find /proc/$$/fd "
      "-lname '*/#*' -o -lname '*.ptbench-partial-*') && break; done; kill -" +
      signal + " $$) & exec " + PTBENCH_EXECUTABLE +
      " run -w linear --steps 1000000000 -o r.json --loss-log l.csv";
  const ProgramResult result =
      run_program({"/bin/bash", "-c", command},
                  {.folder = run.path(""),
                   .environment = {"XDG_CACHE_HOME=" + run.path("cache").string()},
                   .deadline = std::chrono::seconds(30)});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 130);
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["status"] == "interrupted");
  CHECK(record["samples"]["count"].get<int>() + record["samples"]["warmup_discarded"].get<int>() >
        0);
  CHECK(run.text("l.csv").starts_with("step,loss\n1,"));
  CHECK(run.partial_files() == 0);
}

TEST_CASE("a run of a given length says first how long it takes", "[run]") {
  const auto [length, told] =
      GENERATE(std::pair("--steps 1000000000", "1,000,000,000 steps, about "),
               std::pair("--epochs 1000000 -s ddp -n 2 --threads 1", "1,000,000 epochs, about "),
               std::pair("--epochs 1000000 --target-loss 1e-9", "1,000,000 epochs, up to "));
  const RunCommand run;
  const std::string command =
      "(for i in $(seq 400); do sleep 0.05; grep -qs ' epochs, \\| steps, ' errors && break; done; "
      "kill -INT $$) & exec " PTBENCH_EXECUTABLE " run -w linear " +
      std::string(length) + " -o r.json 2> errors";
  const ProgramResult result = run_program(
      {"/bin/bash", "-c", command},
      {.folder = run.path(""), .environment = {"XDG_CACHE_HOME=" + run.path("cache").string()}});
  const std::string errors = run.text("errors");
  CAPTURE(errors);
  CHECK(result.exit_code == 130);
  CHECK_THAT(errors, Contains(told));
}

}  // namespace
}  // namespace ptbench::testing
