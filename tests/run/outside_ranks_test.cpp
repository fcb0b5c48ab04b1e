// Ranks that somebody else starts, as a user or a launcher does: processes that know nothing of
// each other but what options and environment say.
#include "tests/run/outside_ranks.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/run/command.h"
#include "tests/support/built_modules.h"

namespace ptbench::testing {
namespace {

using Catch::Contains;
Texts rank_of(const std::string& rank, const std::string& world, const Texts& more = {}) {
  Texts arguments{"-s", "ddp",    "--steps", "20",           "--timeout",
                  "20", "--rank", rank,      "--world-size", world};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// One rank of two that train until somebody ends them, but for --rank.
constexpr const char* kEndless = PTBENCH_EXECUTABLE
    " run -w linear -s ddp --threads 1 --steps 1000000000 --verify off --world-size 2";
/// In the shell: until rank 0 has opened its files, which it does once the ranks have met. They
/// have no names yet, but on file systems where that cannot be.
constexpr const char* kUntilBegun =
    "for i in $(seq 500); do ls -l /proc/$R0/fd | grep -q '/#[0-9]* (deleted)\\|ptbench-partial' "
    "&& "
    "break; sleep 0.02; done";

void check_all(const std::vector<ProgramResult>& results, int exit_code, const std::string& says) {
  for (const ProgramResult& result : results) {
    CAPTURE(result.errors, result.output);
    CHECK(result.exit_code == exit_code);
    CHECK_THAT(result.errors, Contains(says));
    CHECK(result.output.empty());
  }
}

}  // namespace

TEST_CASE("ranks that are started by hand are one run, which rank 0 reports", "[run]") {
  const OutsideRanks ranks;
  const auto results = ranks.by_hand(
      {rank_of("0", "2", {"-o", "r.json"}), rank_of("1", "2", {"-o", "other.json", "--json"})});
  CAPTURE(results[0].errors, results[1].errors);
  REQUIRE(results[0].exit_code == 0);
  REQUIRE(results[1].exit_code == 0);
  CHECK_THAT(results[0].errors,
             Contains("ranks from --rank: 2 on 1 host (") && Contains("), communicator shm"));
  CHECK_THAT(results[0].output, Contains("linear/ddp/n2/b32/fp32"));
  CHECK(results[1].output.empty());
  CHECK(results[1].errors.empty());
  CHECK_FALSE(std::filesystem::exists(ranks.files().path("other.json")));
  const auto record = ranks.files().json("r.json")["runs"][0];
  CHECK(record["status"] == "ok");
  CHECK(record["strategy"]["world_size"] == 2);
  CHECK(record["strategy"]["communicator"] == "shm");
  CHECK(record["verification"]["status"] == "passed");
}

TEST_CASE("the variables of torchrun make ranks of one run", "[run]") {
  const OutsideRanks ranks;
  std::vector<Start> starts;
  for (const char* rank : {"0", "1"})
    starts.push_back({{"-s", "ddp", "--max-time", "0.5", "--min-time", "0.1", "-o", "r.json"},
                      {std::string("RANK=") + rank, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                       "MASTER_PORT=" + ranks.port()}});
  const auto results = ranks(starts);
  CAPTURE(results[0].errors, results[1].errors);
  REQUIRE(results[0].exit_code == 0);
  REQUIRE(results[1].exit_code == 0);
  CHECK_THAT(results[0].errors, Contains("ranks from torchrun: 2 on 1 host ("));
  const auto record = ranks.files().json("r.json")["runs"][0];
  CHECK(record["samples"]["repetitions"].size() == 1);
  CHECK_THAT(record["warnings"].dump(), Contains("one-repetition"));
}

TEST_CASE("ranks of mpirun find each other by the job's name", "[run]") {
  const OutsideRanks ranks;
  std::vector<Start> starts;
  for (const char* rank : {"0", "1"})
    starts.push_back({{"-s", "ddp", "--steps", "5"},
                      {std::string("OMPI_COMM_WORLD_RANK=") + rank,
                       std::string("OMPI_COMM_WORLD_LOCAL_RANK=") + rank, "OMPI_COMM_WORLD_SIZE=2",
                       "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=test" + ranks.port()}});
  const auto results = ranks(starts);
  CAPTURE(results[0].errors, results[1].errors);
  CHECK(results[0].exit_code == 0);
  CHECK(results[1].exit_code == 0);
  CHECK_THAT(results[0].errors, Contains("ranks from Open MPI: 2"));
}

TEST_CASE("ranks of launchers that name no job find each other through the shells around them",
          "[run]") {
  const auto [launcher, variables] = GENERATE(table<std::string, std::string>({
      {"MPICH or Intel MPI", "PMI_RANK=$RANK PMI_SIZE=2 MPI_LOCALRANKID=$RANK MPI_LOCALNRANKS=2"},
      {"PMI", "PMI_RANK=$RANK PMI_SIZE=2"},
      {"MVAPICH2", "MV2_COMM_WORLD_RANK=$RANK MV2_COMM_WORLD_SIZE=2"},
  }));
  const OutsideRanks ranks;
  const std::string script = fmt::format(
      "for RANK in 0 1; do {} sh -c "
      "'{} run -w linear -s ddp --threads 1 --steps 5 --verify off --timeout 20; exit $?' & "
      "started=\"$started $!\"; done; for rank in $started; do wait $rank || exit; done",
      variables, PTBENCH_EXECUTABLE);
  const ProgramResult result =
      run_program({"/bin/bash", "-c", script},
                  {.folder = ranks.files().path("."),
                   .environment = {"XDG_CACHE_HOME=" + ranks.files().path("cache").string()}});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.errors, Contains("ranks from " + launcher + ": 2 on 1 host"));
}

TEST_CASE("ranks that do not belong together all say why", "[run]") {
  const OutsideRanks ranks;
  check_all(ranks.by_hand({rank_of("0", "2", {"-b", "64"}), rank_of("1", "2", {"-b", "32"})}), 1,
            "ranks 0 and 1 were started with different options: --batch-size 64 / 32");
  check_all(ranks.by_hand({rank_of("0", "2"), rank_of("1", "3")}), 1,
            "rank 0 was started as one of 2 ranks, rank 1 as one of 3");
  check_all(ranks.by_hand({rank_of("0", "3"), rank_of("1", "3"), rank_of("1", "3")}), 1,
            "rank 1 was started twice");
  check_all(ranks.by_hand({rank_of("0", "2", {"--global-batch", "33"}),
                           rank_of("1", "2", {"--global-batch", "33"})}),
            1, "the nearest possible one is 34");
  const Texts needs_one_host{"--communicator", "shm"};
  check_all(ranks({{rank_of("0", "2", needs_one_host), {ranks.address(), "PTBENCH_HOST_ID=a"}},
                   {rank_of("1", "2", needs_one_host), {ranks.address(), "PTBENCH_HOST_ID=b"}}}),
            5, "several hosts need a communicator between hosts");
}

TEST_CASE("ranks of two hosts train by gloo between their leaders, and are verified", "[run]") {
  if (!is_built("gloo")) return;
  const std::string strategy = GENERATE("ddp", "ddp-flat", "ddp-central");
  const OutsideRanks ranks;
  std::vector<Start> starts;
  for (const std::string rank : {"0", "1", "2", "3"})
    starts.push_back({{"-s", strategy, "--steps", "20", "--timeout", "20", "--rank", rank,
                       "--world-size", "4", "-o", "r.json"},
                      {ranks.address(), rank < "2" ? "PTBENCH_HOST_ID=a" : "PTBENCH_HOST_ID=b"}});
  const auto results = ranks(starts);
  CAPTURE(strategy, results[0].errors, results[2].errors);
  for (const ProgramResult& result : results) CHECK(result.exit_code == 0);
  CHECK_THAT(results[0].errors,
             Contains("ranks from --rank: 4 on 2 hosts (a, b), communicator shm+gloo"));
  const auto record = ranks.files().json("r.json")["runs"][0];
  CHECK(record["status"] == "ok");
  CHECK(record["strategy"]["communicator"] == "shm+gloo");
  CHECK(record["verification"]["status"] == "passed");
  Texts hosts;
  for (const nlohmann::json& rank : record["ranks"]) hosts.push_back(rank["host"]);
  CHECK(hosts == Texts{"a", "a", "b", "b"});
  CHECK(record["strategy"]["hosts"] == 2);
  CHECK(record["link"]["communicator"] == "shm+gloo");
  CHECK(record["link"]["latency_seconds"].get<double>() > 0);
  CHECK(record["link"]["bandwidth_bytes_per_second"].get<double>() > 0);
  CHECK_THAT(results[0].output, Contains("link        2 hosts, "));
}

TEST_CASE("collectives of ranks of two hosts go by way of their leaders", "[run]") {
  if (!is_built("gloo")) return;
  const OutsideRanks ranks;
  const auto results = ranks.comm({"--sizes", "4,64K", "--iters", "3", "--json"}, Texts{"a", "b"});
  CAPTURE(results[0].errors, results[1].errors);
  CHECK(results[0].exit_code == 0);
  CHECK(results[1].exit_code == 0);
  CHECK_THAT(results[0].errors, Contains("2 on 2 hosts (a, b), communicator shm+gloo"));
  for (const nlohmann::json& row : nlohmann::json::parse(results[0].output)) {
    CHECK(row["communicator"] == "shm+gloo");
    CHECK(row["wrong"] == 0);
  }
}

TEST_CASE("several hosts without an address of rank 0's are told to give one", "[run]") {
  const OutsideRanks ranks;
  const Texts run{"-s", "ddp", "--steps", "5", "--timeout", "20"};
  const auto mpi = [&](const std::string& rank) {
    return Start{run,
                 {"OMPI_COMM_WORLD_RANK=" + rank, "OMPI_COMM_WORLD_SIZE=2",
                  "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1"}};
  };
  check_all(ranks({mpi("0"), mpi("1")}), 1,
            "the 2 ranks from Open MPI are on several hosts, and nothing says where they meet");
}

TEST_CASE("a rank that never comes is named when the time is up", "[run]") {
  const OutsideRanks ranks;
  const Texts common{"-s", "ddp", "--steps", "5", "--timeout", "2", "--world-size", "2"};
  const auto alone = [&](const std::string& rank) {
    Texts arguments = common;
    arguments.insert(arguments.end(), {"--rank", rank});
    return ranks.by_hand({arguments});
  };
  check_all(alone("0"), 2, "rank 1 of 2 did not come");
  check_all(alone("1"), 2, "rank 0 did not come");
}

TEST_CASE("a wrong MASTER_ADDR is named", "[run]") {
  const OutsideRanks ranks;
  const std::vector<Start> starts{
      {{"-s", "ddp", "--steps", "5", "--timeout", "1"},
       {"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=192.0.2.1", "MASTER_PORT=" + ranks.port()}}};
  check_all(ranks(starts), 2, "MASTER_ADDR is '192.0.2.1', which is not an address of this host");
}

TEST_CASE("what cannot have outside ranks refuses them on every rank", "[run]") {
  const OutsideRanks ranks;
  const auto with = [&](const Texts& arguments, const std::string& rank) {
    return Start{arguments, {"PTBENCH_RANK=" + rank, "PTBENCH_WORLD_SIZE=2", ranks.address()}};
  };
  check_all(ranks({with({"-s", "serial", "--steps", "5"}, "0"),
                   with({"-s", "serial", "--steps", "5"}, "1")}),
            1, "strategy 'serial' is one process, and there are 2 ranks from PTBENCH_RANK");
  // At once: one that comes alone does not wait for the other.
  for (const std::string rank : {"0", "1"})
    check_all(ranks({with({"-s", "dp", "--steps", "5", "--timeout", "600"}, rank)}), 1,
              "strategy 'dp' is one process, and there are 2 ranks from PTBENCH_RANK");
  check_all(ranks({with({"-s", "ddp", "-n", "2"}, "0"), with({"-s", "ddp", "-n", "2"}, "1")}), 1,
            "--nproc 2: there are already 2 ranks from PTBENCH_RANK");
  check_all(ranks({{{"--rank", "0"}, {}}}), 1, "--rank needs --world-size");
  check_all(ranks({{{"--steps", "5"}, {"RANK=0"}}}), 1, "RANK is set, and WORLD_SIZE is not");
  // Each would be a run of its own.
  check_all(ranks({{{"--steps", "5"}, {"HOROVOD_RANK=0", "HOROVOD_SIZE=2"}},
                   {{"--steps", "5"}, {"HOROVOD_RANK=1", "HOROVOD_SIZE=2"}}}),
            1, "say that a launcher started 2 processes, and this run would use 1 of them");
  check_all(ranks({{{"--steps", "5"}, {"PMIX_RANK=1", "PMIX_NAMESPACE=prterun-1"}}}), 1,
            "PMIX_RANK says that a launcher started this process as a rank");
}

TEST_CASE("commands that start ranks refuse to be one of several", "[run]") {
  struct Launcher {
    std::string name;
    Texts environment;
  };
  const RunCommand place;
  const std::vector<Launcher> launchers{
      {"torchrun", {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1"}},
      {"Open MPI", {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}},
      {"MPICH or Intel MPI", {"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1"}},
      {"Slurm", {"SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_STEP_ID=0"}},
      {"PALS", {"PALS_RANKID=1", "PMI_RANK=1", "PMI_SIZE=2"}},
      {"Flux", {"FLUX_TASK_RANK=1", "FLUX_JOB_SIZE=2"}},
      {"jsrun", {"JSM_NAMESPACE_RANK=1", "JSM_NAMESPACE_SIZE=2"}},
      {"a launcher that ptbench does not know", {"HOROVOD_RANK=1", "HOROVOD_SIZE=2"}},
      {"PTBENCH_RANK", {"PTBENCH_RANK=1", "PTBENCH_WORLD_SIZE=2"}}};
  for (const auto& [name, environment] : launchers) {
    const ProgramResult result = run_program(
        {PTBENCH_EXECUTABLE, "sweep"}, {.folder = place.path("."), .environment = environment});
    CAPTURE(result.output);
    CHECK(result.exit_code == 1);
    const std::string says = fmt::format(
        "error: ptbench sweep starts its own ranks, and this process is rank 1 of 2 from {}", name);
    CHECK_THAT(result.errors, Contains(says) && Contains("remedy: start one process: "));
    CHECK(result.output.empty());
  }
}

TEST_CASE("ranks that somebody else started measure collectives", "[run]") {
  const OutsideRanks ranks;
  std::vector<std::string> communicators{"shm"};
  if (is_built("gloo")) communicators.emplace_back("gloo");
  for (const std::string& communicator : communicators) {
    const auto results =
        ranks.comm({"--communicator", communicator, "--sizes", "4,64K", "--iters", "3", "--json"});
    CAPTURE(results[0].errors, results[1].errors);
    CHECK(results[0].exit_code == 0);
    CHECK(results[1].exit_code == 0);
    CHECK_THAT(results[0].errors,
               Contains("2 on 1 host") && Contains("communicator " + communicator));
    CHECK(results[1].output.empty());
    for (const nlohmann::json& row : nlohmann::json::parse(results[0].output)) {
      CHECK(row["communicator"] == communicator);
      CHECK(row["ranks"] == 2);
      CHECK(row["wrong"] == 0);
    }
  }
}

TEST_CASE("commands that start ranks work where a launcher started one process", "[run]") {
  const RunCommand place;
  const std::string cache = "XDG_CACHE_HOME=" + place.path("cache").string();
  const std::vector<Texts> environments{
      {cache, "RANK=0", "WORLD_SIZE=1"},
      // A shell of an allocation for two tasks, with one of its own.
      {cache, "SLURM_JOB_ID=7", "SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=2",
       "SLURM_STEP_ID=4294967290", "SLURM_STEP_NUM_TASKS=1"},
      {cache, "WORLD_SIZE=2"}};
  for (const Texts& environment : environments) {
    const auto run = [&](Texts command) {
      command.insert(command.begin(), PTBENCH_EXECUTABLE);
      return run_program(command, {.folder = place.path("."), .environment = environment});
    };
    const ProgramResult comm = run({"comm", "-n", "2", "--sizes", "4K"});
    CAPTURE(environment, comm.errors);
    CHECK(comm.exit_code == 0);
    CHECK_THAT(comm.output, Contains("2 ranks, processes"));
    const ProgramResult sweep =
        run({"sweep", "-w", "linear", "-s", "ddp", "-n", "2", "--threads", "1", "--steps", "5",
             "--rounds", "1", "--verify", "off", "-o", "grid.json"});
    CAPTURE(sweep.errors);
    CHECK(sweep.exit_code == 0);
    CHECK(place.json("grid.json")["runs"][0]["status"] == "ok");
  }
}

TEST_CASE("a world of one from outside is a run like any other", "[run]") {
  const OutsideRanks ranks;
  const auto results =
      ranks({{{"--steps", "5", "--verify", "off"}, {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0"}}});
  CAPTURE(results[0].errors);
  CHECK(results[0].exit_code == 0);
  CHECK_THAT(results[0].errors, Contains("ranks from torchrun: 1"));
}

TEST_CASE("an outside rank that is killed ends the others, who name it", "[run]") {
  for (const std::string victim : {"0", "1"}) {
    const OutsideRanks ranks;
    const std::string script = fmt::format(
        "{0} --rank 0 -o r.json --loss-log log.csv & R0=$!; {0} --rank 1 & R1=$!; {1}; sleep 1; "
        "kill -KILL $R{2}; wait $R{3}",
        kEndless, kUntilBegun, victim, victim == "0" ? 1 : 0);
    const ProgramResult result =
        run_program({"/bin/bash", "-c", script},
                    {.folder = ranks.files().path("."),
                     .environment = {ranks.address(),
                                     "XDG_CACHE_HOME=" + ranks.files().path("cache").string()}});
    CAPTURE(victim, result.errors, result.output);
    CHECK(result.exit_code == 2);
    const std::string says = "rank " + victim + " gave up: its process on ";
    if (victim == "0") {
      CHECK_THAT(result.errors, Contains(says) && Contains("ended while"));
    } else {
      const auto record = ranks.files().json("r.json")["runs"][0];
      CHECK(record["status"] == "failed");
      CHECK_THAT(record["reason"].get<std::string>(), Contains(says) && Contains("ended while"));
    }
  }
}

TEST_CASE("an outside rank that is stopped ends the others when its time is over", "[run]") {
  struct Stop {
    std::string victim;
    std::string pause;  // until it is stopped, once the ranks have met
  };
  // A busy machine may keep ranks waiting for a second.
  const std::string ranked = std::string(kEndless) + " --timeout 3";
  const Stop stop = GENERATE(values<Stop>({{"0", "0"}, {"1", "1"}}));
  const OutsideRanks ranks;
  const std::string script = fmt::format(
      "{0} --rank 0 -o r.json --loss-log log.csv & R0=$!; {0} --rank 1 & R1=$!; {1}; sleep {2}; "
      "kill -STOP $R{3}; wait $R{4}; CODE=$?; wait $R{3}; echo stopped one $?; exit $CODE",
      ranked, kUntilBegun, stop.pause, stop.victim, stop.victim == "0" ? 1 : 0);
  const ProgramResult result = run_program(
      {"/bin/bash", "-c", script},
      {.folder = ranks.files().path("."),
       .environment = {ranks.address(), "XDG_CACHE_HOME=" + ranks.files().path("cache").string()}});
  CAPTURE(stop.victim, stop.pause, result.errors, result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, Contains("stopped one 137"));
  const std::string said =
      stop.victim == "0" ? result.errors
                         : ranks.files().json("r.json")["runs"][0]["reason"].get<std::string>();
  CHECK_THAT(
      said, Contains("rank " + stop.victim + " ") && Contains(" while ") && Contains("is stopped"));
}

TEST_CASE("an interrupt of any outside rank ends all, and what was measured is saved", "[run]") {
  const OutsideRanks ranks;
  const std::string script = fmt::format(
      "{0} --rank 0 -o r.json & R0=$!; {0} --rank 1 & R1=$!; {1}; sleep 2; kill -TERM $R1; "
      "wait $R1; echo one $?; wait $R0; echo zero $?",
      kEndless, kUntilBegun);
  const ProgramResult result = run_program(
      {"/bin/bash", "-c", script},
      {.folder = ranks.files().path("."),
       .environment = {ranks.address(), "XDG_CACHE_HOME=" + ranks.files().path("cache").string()}});
  CAPTURE(result.errors, result.output);
  CHECK_THAT(result.output, Contains("one 130") && Contains("zero 130"));
  CHECK(ranks.files().json("r.json")["runs"][0]["status"] == "interrupted");
}

TEST_CASE("launched ranks end with who had them launched, and with their launcher", "[run]") {
  const bool launcher_ends = GENERATE(false, true);
  const OutsideRanks ranks;
  // The shell in parentheses is the launcher; who has it start ranks has ptbench's name.
  const std::string script = fmt::format(
      "cp \"$(command -v sleep)\" ptbench; ./ptbench 1000 & STARTER=$!; LAUNCHED='{0} "
      "--launched-ranks 2 --launched-by '$STARTER; "
      "( $LAUNCHED --rank 0 -o r.json & echo $! >rank0; $LAUNCHED --rank 1 & echo $! >rank1; wait "
      ") & LAUNCHER=$!; until test -s rank1; do sleep 0.02; done; R0=$(cat rank0); {1}; "
      "kill -KILL ${2}; for rank in 0 1; do while grep -q . /proc/$(cat rank$rank)/cmdline; do "
      "sleep 0.05; done; done 2>gone; kill $STARTER",
      kEndless, kUntilBegun, launcher_ends ? "LAUNCHER" : "STARTER");
  const ProgramResult result = run_program(
      {"/bin/bash", "-c", script},
      {.folder = ranks.files().path("."),
       .environment = {ranks.address(), "XDG_CACHE_HOME=" + ranks.files().path("cache").string()}});
  CAPTURE(launcher_ends, result.errors, result.output);
  CHECK(ranks.files().json("r.json")["runs"][0]["status"] == "interrupted");
}

}  // namespace ptbench::testing
