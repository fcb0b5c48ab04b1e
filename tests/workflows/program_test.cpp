// `ptbench run --program` as users run it, with programs that behave well or badly.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "src/process/child_process.h"
#include "tests/run/command.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using testing::ProgramResult;
using testing::record_of;
using testing::run_program;
using testing::RunCommand;

/// The command that starts the scripted program with these words.
std::string scripted(const std::string& words) {
  return "python3 '" PTBENCH_SOURCE_DIR "/tests/support/scripted_program.py' " + words;
}

ProgramResult measure(const RunCommand& run, const std::string& command,
                      std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"--program", command, "--repeats", "1", "-o", "r.json"});
  return run(std::move(more));
}

std::string reason_of(const RunCommand& run, const ProgramResult& result) {
  CAPTURE(result.output, result.errors);
  CHECK(result.exit_code == 2);
  const nlohmann::json record = run.json("r.json")["runs"][0];
  CHECK(record["status"] == "failed");
  return record["reason"];
}

bool is_there(const std::string& process) {
  return !testing::contents_of("/proc/" + process + "/cmdline").empty();
}

/// Whether that process is gone within some seconds.
bool ends(const std::string& process) {
  for (int look = 0; look < 500 && is_there(process); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !is_there(process);
}

TEST_CASE("a program's steps are recorded as it tells them", "[workflows][program]") {
  const RunCommand run;
  const auto record = record_of(run, measure(run,
                                             scripted("durations=2,3,4 loss=1 phases=1 "
                                                      "hello='{\"tokens\":1024}'"),
                                             {"--steps", "30", "--warmup", "6"}));
  CHECK(record["id"] == "scripted_program/program/fp32");
  CHECK(record["engine"]["name"] == "program");
  CHECK(record["engine"]["version"] == "scripted 1.0");
  CHECK_THAT(record["engine"]["command"], Contains("durations=2,3,4"));
  CHECK(record["workload"]["name"] == "scripted_program");
  CHECK(record["compute"]["flops_per_step"].is_null());
  CHECK(record["strategy"]["global_batch"] == 64);
  CHECK(record["samples"]["count"] == 30);
  std::vector<double> seconds = record["samples"]["step_seconds"];
  REQUIRE(seconds.size() == 30);
  for (std::size_t step = 0; step + 3 < seconds.size(); ++step) {
    CHECK(seconds[step] == Approx(seconds[step + 3]).epsilon(1e-9));
    CHECK(seconds[step] + seconds[step + 1] + seconds[step + 2] == Approx(9e-3).epsilon(1e-9));
  }
  CHECK(record["throughput"]["value"].get<double>() == Approx(64 / 3e-3).epsilon(1e-9));
  CHECK(record["workload"]["tokens_per_step"] == 1024);
  CHECK(record["throughput"]["tokens_per_second"].get<double>() ==
        Approx(1024 / 3e-3).epsilon(1e-9));
  CHECK(record["loss"]["first"] == 2);
  const auto& phases = record["phases_seconds"];
  CHECK(phases["backward"].get<double>() == Approx(2 * phases["forward"].get<double>()));
  CHECK(phases["other"].get<double>() == Approx(phases["forward"].get<double>()));
  CHECK(phases["optimizer"].is_null());
  CHECK(record["ranks"][0]["peak_memory_bytes"] > 0);
  CHECK(record["memory"]["peak_bytes"] > 0);
  CHECK(record["verification"]["status"] == "not_run");
}

TEST_CASE("each step of several ranks lasts as long as the slowest", "[workflows][program]") {
  const RunCommand run;
  const auto record = record_of(
      run, measure(run, scripted("n={n} durations=2 slow=1.5"),
                   {"-n", "2", "--name", "mine", "--max-time", "2", "--trace", "traces"}));
  CHECK(record["id"] == "mine/program/n2/fp32");
  CHECK(record["strategy"]["world_size"] == 2);
  CHECK(record["strategy"]["global_batch"] == 128);
  CHECK(record["step_seconds"]["median"].get<double>() == Approx(3.5e-3).epsilon(1e-9));
  CHECK(record["step_seconds"]["max"].get<double>() == Approx(3.5e-3).epsilon(1e-9));
  CHECK(record["samples"]["slices"].size() >= 2);
  CHECK(record["ranks"].size() == 2);
  CHECK_FALSE(run.text("traces/rank0.json").empty());
  CHECK_FALSE(run.text("traces/rank1.json").empty());
}

TEST_CASE("a rank for which the others wait in communication is named", "[workflows][program]") {
  const RunCommand run;
  const auto record_with = [&](const std::string& words) {
    return record_of(run, measure(run, scripted("n={n} durations=8 phases=1 meet=4 " + words),
                                  {"-n", "2", "--steps", "20"}));
  };
  const auto stragglers_of = [](const nlohmann::json& record) {
    std::vector<std::string> messages;
    for (const auto& warning : record["warnings"])
      if (warning["code"] == "straggler") messages.push_back(warning["message"]);
    return messages;
  };
  for (const char* phase : {"communication", "communication_exposed"}) {
    const nlohmann::json slow = record_with(std::string("late=2 meet_as=") + phase);
    CHECK(slow["ranks"][0]["compute_seconds"].get<double>() == Approx(4e-3));
    CHECK(slow["ranks"][1]["compute_seconds"].get<double>() == Approx(6e-3));
    const std::vector<std::string> messages = stragglers_of(slow);
    REQUIRE(messages.size() == 1);
    CHECK_THAT(messages.front(), Contains("rank 1 computes 50.0 % longer"));
  }
  CHECK(stragglers_of(record_with("late=0")).empty());
  // Who waits within what he calls computing computes as long as the rank that he waits for.
  CHECK(stragglers_of(record_with("late=2 meet_as=optimizer")).empty());
}

TEST_CASE("programs are repeated in fresh processes", "[workflows][program]") {
  const RunCommand run;
  const ProgramResult result = run(
      {"--program", scripted("durations=5"), "--repeats", "3", "--max-time", "60", "-o", "r.json"});
  const auto record = record_of(run, result);
  CHECK(record["samples"]["repetitions"].size() == 3);
  CHECK(record["step_seconds"]["median"].get<double>() == Approx(5e-3).epsilon(1e-9));
  const std::string ended = "[program] the loop has ended";  // which each of them prints
  const std::size_t first = result.errors.find(ended);
  CHECK(first != std::string::npos);
  CHECK(result.errors.find(ended, first + 1) == std::string::npos);
  CHECK_THAT(result.errors, StartsWith("ptbench: 3 processes, about "));
}

TEST_CASE("options reach a program through its command", "[workflows][program]") {
  const RunCommand run;
  const auto refused = [&](std::vector<std::string> arguments) {
    const ProgramResult result = run(std::move(arguments));
    CHECK(result.exit_code == 1);
    return result.errors;
  };
  CHECK_THAT(refused({"--program", "x", "-n", "2"}),
             Contains("--nproc does not reach the program"));
  CHECK_THAT(refused({"--program", "x", "--lr", "1"}), Contains("--lr has no effect"));
  CHECK_THAT(refused({"--program", "x", "-w", "mlp"}), Contains("--name"));
  CHECK_THAT(refused({"--program", "x {b}"}), Contains("--batch-size is missing"));
  CHECK_THAT(refused({"--program", "x {what}"}), Contains("{what}, which is not a placeholder"));
  CHECK_THAT(refused({"--program", "x {b}", "-n", "3", "--global-batch", "64"}), Contains("{n}"));
  CHECK_THAT(refused({"--name", "x"}), Contains("--program"));
  CHECK_THAT(refused({"--program", "x", "--engine", "pytorch"}), Contains("--engine pytorch"));
  const auto record = record_of(
      run, measure(run,
                   scripted("durations={b} #{n},{global_batch},{precision},{strategy},{threads},"
                            "{seed},${HOME},{ a; }"),
                   {"-b", "4", "--precision", "bf16", "-s", "ddp", "--threads", "1", "--seed", "7",
                    "--steps", "5"}));
  CHECK_THAT(record["engine"]["command"], Contains("durations=4 #1,4,bf16,ddp,1,7,${HOME},{ a; }"));
  CHECK(record["id"] == "scripted_program/ddp/b4/bf16/threads=1");
  CHECK(record["strategy"]["global_batch"] == 64);
  CHECK(record["warnings"].dump().find("other-batch") != std::string::npos);
}

TEST_CASE("loaders that work on while a program waits are told of", "[workflows][program]") {
  const RunCommand run;
  const auto warnings = [&](const std::string& words) {
    const auto record = record_of(run, measure(run, scripted(words), {"--max-time", "3"}));
    return record["warnings"].dump();
  };
  CHECK_THAT(warnings("durations=2 before=loader"), Contains("loads-ahead"));
  CHECK_THAT(warnings("durations=2"), !Contains("loads-ahead"));
}

TEST_CASE("rows of a program whose ranks do not divide the batch keep their names",
          "[workflows][program]") {
  const RunCommand run;
  const auto record = record_of(run, measure(run, scripted("n={n} durations=2 #{global_batch}"),
                                             {"-n", "3", "--global-batch", "100", "--steps", "5"}));
  CHECK(record["id"] == "scripted_program/program/n3/fp32/global-batch=100");
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a program has the variables that pin threads, which ptbench hides from itself",
          "[workflows][program]") {
  const RunCommand run;
  (void)run_program({PTBENCH_EXECUTABLE, "run", "--program", "env >seen; exit 1"},
                    {.folder = run.path("."),
                     .environment = {"OMP_PROC_BIND=close", "GOMP_CPU_AFFINITY=0",
                                     "XDG_CACHE_HOME=" + run.path("cache").string()}});
  const std::string seen = run.text("seen");
  CHECK_THAT(seen, Contains("\nOMP_PROC_BIND=close\n") || StartsWith("OMP_PROC_BIND=close\n"));
  CHECK_THAT(seen, Contains("GOMP_CPU_AFFINITY=0\n"));
  CHECK_THAT(seen, !Contains("\n_MP_PROC_BIND"));
}
#endif

TEST_CASE("what a program does wrong is one clear error", "[workflows][program]") {
  struct Case {
    std::string words;
    std::string reason;
  };
  const std::vector<Case> cases{
      {"at=1 fault=garbage", "not a JSON object"},
      {"at=1 fault=list", "not a JSON object"},
      {"at=1 fault=long", "a message is empty or too long"},
      {"at=2 fault=nan", "not a JSON object"},
      {"at=1 fault=skip", "step 6 comes after step 0"},
      {"at=1 fault=ahead", "was granted"},
      {"at=1 fault=backwards", "begins at"},
      {"at=1 fault=flood", "messages without a step"},
      {"at=1 fault=diverge", "not finite"},
      {"at=90 fault=die exit=0", "was killed by signal 9"},
      {"at=90 fault=crash", "something is broken"},
      {"exit=3", "ended with exit code 3"},
      {"stop=3", "before enough was measured"},
      {"hello='{\"protocol\":\"ptbench.steps/2\"}'", "ptbench.steps/2"},
      {"hello='{\"rank\":1}'", "no rank 1 in a world of 1"},
      {"hello='{\"samples\":0}'", "'samples' is not a whole number"},
      {"n=2 hello='{\"rank\":0}'", "rank 0: it is there twice"},
      {"before=connect", "too many connections"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.words);
    const RunCommand run;
    CHECK_THAT(reason_of(run, measure(run, scripted(one.words), {"--max-time", "1.5"})),
               Contains(one.reason));
  }
}

TEST_CASE("a program that says nothing is not waited for", "[workflows][program]") {
  const RunCommand run;
  const std::vector<std::string> soon{"--timeout", "4"};
  CHECK_THAT(reason_of(run, measure(run, "echo out; echo problem >&2; exit 4", soon)),
             Contains("ended with exit code 4 before it said hello") && Contains("problem"));
  CHECK_THAT(reason_of(run, measure(run, scripted("before=silence"), soon)),
             Contains("said no hello"));
  // Which says hello first, on a busy machine too.
  CHECK_THAT(reason_of(run, measure(run, scripted("at=9 fault=hang"), {"--timeout", "10"})),
             Contains("rank 0 of the program has reported nothing"));
  const auto record = record_of(
      run, measure(run, scripted("at=1 fault=linger"), {"--timeout", "10", "--steps", "5"}));
  CHECK(record["warnings"].dump().find("program-killed") != std::string::npos);
}

TEST_CASE("of several ranks the one that left first is named", "[workflows][program]") {
  const RunCommand run;
  const std::string ranks =
      "for rank in 0 1; do if [ \\$rank = 1 ]; then what='at=90 fault=die'; fi; " +
      scripted("world=2 rank=\\$rank \\$what") + " & done; wait -n && wait";
  CHECK_THAT(
      reason_of(run, measure(run, "exec bash -c \"" + ranks + "\"")),
      Contains("killed by signal 9") && Contains(", and rank 1 closed its connection first"));
}

TEST_CASE("a program that tells times in another unit ends in time", "[workflows][program]") {
  const RunCommand run;
  CHECK_THAT(reason_of(run, measure(run, scripted("real=0.05 unit=1000"),
                                    {"--max-time", "0.2", "--timeout", "5"})),
             Contains("the program trained for") && Contains("reports steps that last"));
}

TEST_CASE("programs may talk, read, wander and leave daemons behind", "[workflows][program]") {
  const RunCommand run;
  const ProgramResult talker = measure(run, scripted("before=talk"), {"--steps", "5"});
  CHECK(record_of(run, talker)["status"] == "ok");
  CHECK(talker.errors.size() < 200'000);
  CHECK_THAT(talker.errors, Contains("[program] some words") && Contains("which is not shown"));
  const ProgramResult reader = measure(run, scripted("before=read"), {"--steps", "5"});
  CHECK_THAT(reader.errors, Contains("[program] read 0"));
  CHECK(record_of(run, measure(run, scripted("before=wander"), {"--steps", "5"}))["status"] ==
        "ok");
  CHECK(record_of(run, measure(run, scripted("before=daemon pidfile=daemon"),
                               {"--steps", "5"}))["status"] == "ok");
  CHECK_FALSE(is_there(run.text("daemon")));
}

TEST_CASE("children that ptbench had before it began are nobody's orphans",
          "[workflows][program]") {
  const RunCommand run;
  const std::string command =
      "cd '" + run.path(".").string() + "'; setsid sleep 600 & echo $! > service; exec '" +
      PTBENCH_EXECUTABLE + "' run --steps 5 -o r.json --program \"" + scripted("") + "\"";
  ChildProcess shell({.program = "/bin/sh", .arguments = {"-c", command}});
  std::optional<ChildExit> ended;
  while (!ended) ended = shell.wait(std::chrono::seconds(1));
  CHECK(ended->code == 0);
  const std::string service = std::to_string(std::stoi(run.text("service")));
  CHECK(is_there(service));
  CHECK(kill(std::stoi(service), SIGKILL) == 0);
}

/// A run of a program with a daemon, begun and measuring.
struct BegunRun {
  BegunRun() {
    std::vector<std::string> arguments{
        "run",
        "--program",
        scripted("before=daemon real=2 pidfile=") + run.path("daemon").string(),
        "--repeats",
        "3",
        "--max-time",
        "30",
        "-o",
        run.path("r.json").string()};
    process.emplace(ChildCommand{.program = PTBENCH_EXECUTABLE,
                                 .arguments = std::move(arguments),
                                 .on_output = [](std::string_view) {},
                                 .on_errors = [](std::string_view) {}});
    while (run.text("daemon").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  int finish() {
    for (;;)
      if (const auto ended = process->wait(std::chrono::seconds(1))) return ended->code;
  }
  RunCommand run;
  std::optional<ChildProcess> process;
};

TEST_CASE("a signal ends a run with its program, and keeps results", "[workflows][program]") {
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  BegunRun begun;
  begun.process->send(signal);
  CHECK(begun.finish() == 130);
  CHECK(ends(begun.run.text("daemon")));
  CHECK(begun.run.json("r.json")["runs"][0]["status"] == "interrupted");
}

TEST_CASE("whoever of ptbench is killed, nothing of a program is left", "[workflows][program]") {
  BegunRun begun;
  SECTION("the process that the user started") { begun.process->send(SIGKILL); }
  SECTION("the process that measures") {
    int repetition = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string command = testing::contents_of(entry.path() / "cmdline");
      if (command.find(begun.run.path("daemon").string()) != std::string::npos &&
          command.find("--steps-socket") != std::string::npos)
        repetition = std::stoi(entry.path().filename().string());
    }
    REQUIRE(repetition > 0);
    REQUIRE(kill(repetition, SIGKILL) == 0);
    CHECK(begun.finish() == 2);
  }
  CHECK(ends(begun.run.text("daemon")));
}

/// The shipped scripts' part is played by the scripted program, which is called as Python is.
TEST_CASE("PyTorch is an engine where there is a Python with it", "[workflows][program]") {
  const RunCommand place;
  const auto ptbench = [&](std::vector<std::string> arguments, const std::string& python) {
    arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
    return testing::run_program(arguments, {.folder = place.path("."),
                                            .environment = {"PTBENCH_PYTHON=" + python},
                                            .deadline = std::chrono::minutes(1)});
  };
  const std::vector<std::string> what{"-w", "linear", "-b", "64", "--threads", "1", "--engine"};
  std::vector<std::string> run{"run", "--steps", "8", "-o", "r.json"};
  run.insert(run.end(), what.begin(), what.end());
  run.emplace_back("pytorch");
  const ProgramResult absent = ptbench(run, "/nowhere/python");
  CHECK(absent.exit_code == 5);
  CHECK_THAT(absent.errors, Contains("/nowhere/python") && Contains("scripts/peers"));

  place.write("python", "#!/bin/sh\necho 'train.py: no torch' >&2\nexit 5\n");
  std::filesystem::permissions(place.path("python"), std::filesystem::perms::owner_all);
  const ProgramResult without_torch = ptbench(run, place.path("python").string());
  CHECK(without_torch.exit_code == 5);
  CHECK_THAT(without_torch.errors, Contains("no torch") && !Contains("let its training loop"));

  place.write("python",
              "#!/bin/sh\ncase \"$*\" in *--verify*) cat verified; exit $(cat code);; esac\n"
              "echo \"$@\"\nexec " +
                  scripted("durations=3") + "\n");
  std::filesystem::permissions(place.path("python"), std::filesystem::perms::owner_all);
  const std::string python = place.path("python").string();
  const auto says = [&](const std::string& status, const std::string& error, int code) {
    place.write("verified", "a line before\n{\"verification\": \"" + status +
                                "\", \"max_relative_error\": " + error +
                                ", \"tolerance\": 1e-5, \"steps\": [{}, {}]}\n");
    place.write("code", std::to_string(code));
  };
  std::vector<std::string> only = run;
  only.insert(only.end(), {"--verify", "only"});
  says("failed", "0.5", 2);
  CHECK_THAT(reason_of(place, ptbench(only, python)),
             Contains("does not train as ptbench does") && Contains("0.5"));
  CHECK_THAT(reason_of(place, ptbench(run, python)), Contains("does not train as ptbench does"));
  says("failed", "null", 2);
  CHECK_THAT(reason_of(place, ptbench(only, python)), Contains("no number"));
  says("passed", "1e-7", 3);
  CHECK_THAT(reason_of(place, ptbench(only, python)), Contains("exit code 3"));
  place.write("verified", "{\n");
  place.write("code", "0");
  CHECK_THAT(reason_of(place, ptbench(only, python)), Contains("which is not a result"));
  says("passed", "1e-7", 0);
  const auto verified = record_of(place, ptbench(only, python))["verification"];
  CHECK(verified["status"] == "passed");
  CHECK(verified["steps"] == 2);
  CHECK(verified["max_relative_error"] == 1e-7);
  const ProgramResult result = ptbench(run, python);
  const auto record = record_of(place, result);
  CHECK(record["id"] == "linear/serial/n1/b64/fp32/threads=1/engine=pytorch");
  CHECK(record["engine"]["name"] == "pytorch");
  CHECK(record["optimizer"]["name"] == "adam");
  CHECK(record["verification"]["status"] == "passed");
  CHECK_THAT(result.errors, Contains("train.py --workload=linear --strategy=serial --nproc=1 "
                                     "--batch-size=64 --accumulate=1 --precision=fp32 "
                                     "--optimizer=adam"));
  run.insert(run.end(), {"--bucket-mb", "1", "-s", "ddp"});
  CHECK_THAT(ptbench(run, python).errors, Contains("--bucket-mb is not known to the PyTorch"));

  std::vector<std::string> sweep{"sweep", "--rounds", "1", "--max-time", "0.5", "-o", "s.json"};
  sweep.insert(sweep.end(), what.begin(), what.end());
  sweep.emplace_back("native,pytorch,pytorch-compiled");
  std::vector<std::string> unverified = sweep;
  unverified.insert(unverified.end(), {"--verify", "off"});
  CHECK(ptbench(unverified, python).exit_code == 0);
  const auto other = place.json("s.json")["runs"][1];
  CHECK(other["versus"].is_null());
  CHECK(other["warnings"][0]["code"] == "not-compared");
  std::filesystem::remove(place.path("s.json"));
  const ProgramResult both = ptbench(sweep, python);
  CAPTURE(both.output, both.errors);
  CHECK(both.exit_code == 0);
  const auto runs = place.json("s.json")["runs"];
  REQUIRE(runs.size() == 3);
  CHECK(runs[0]["engine"]["name"] == "native");
  CHECK(runs[1]["engine"]["name"] == "pytorch");
  CHECK(runs[2]["engine"]["name"] == "pytorch");
  CHECK(runs[1]["versus"]["run"] == runs[0]["id"]);
  CHECK(runs[2]["id"] == "linear/serial/n1/b64/fp32/threads=1/engine=pytorch-compiled");
  CHECK_THAT(runs[1]["engine"]["command"], !Contains("--compile"));
  CHECK_THAT(runs[2]["engine"]["command"], Contains("--compile"));
}

TEST_CASE("gates and sweeps measure programs in lockstep", "[workflows][program]") {
  const RunCommand place;
  const auto ptbench = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PTBENCH_EXECUTABLE);
    return testing::run_program(arguments,
                                {.folder = place.path("."), .deadline = std::chrono::minutes(2)});
  };
  const ProgramResult slower =
      ptbench({"gate", "--base-program", scripted("durations=2"), "--new-program",
               scripted("durations=2.4"), "--keep", "kept"});
  CAPTURE(slower.output, slower.errors);
  CHECK(slower.exit_code == 3);
  CHECK_THAT(slower.output, Contains("slower"));
  const auto base = place.json("kept/base.json")["runs"][0];
  CHECK(base["samples"]["repetitions"][0]["lockstep"].is_string());
  CHECK(base["engine"]["name"] == "program");

  const ProgramResult sweep =
      ptbench({"sweep", "--program", scripted("n={n} durations={b} #{threads}"), "-n", "1,2", "-b",
               "2", "--rounds", "3", "--max-time", "3", "-o", "sweep.json"});
  CAPTURE(sweep.output, sweep.errors);
  CHECK(sweep.exit_code == 0);
  const auto runs = place.json("sweep.json")["runs"];
  REQUIRE(runs.size() == 2);
  CHECK(runs[1]["scaling"]["efficiency"].get<double>() == Approx(1).epsilon(1e-6));
  CHECK(runs[1]["scaling"]["baseline"] == runs[0]["id"]);
}

}  // namespace
}  // namespace ptbench
