// Where a process's rank comes from, without touching this process's environment.
#include "src/ranks/rank_source.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/support/refusal.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Environment = std::map<std::string, std::string>;

RankClues clues_of(const Environment& environment) {
  return {.variable = [environment](const std::string& name) -> std::optional<std::string> {
            const auto found = environment.find(name);
            return found == environment.end() ? std::nullopt : std::optional(found->second);
          },
          .setter = [](const std::string&) { return 77; },
          .names =
              [environment] {
                std::vector<std::string> names;
                for (const auto& entry : environment) names.push_back(entry.first);
                return names;
              }};
}

RankPlace found(const Environment& environment) { return find_rank(clues_of(environment)); }

std::string refusal(const RankClues& clues) {
  return testing::refusal_of([&] { return find_rank(clues); });
}

std::string refusal(const Environment& environment) { return refusal(clues_of(environment)); }

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

Environment without_variable(Environment environment, const std::string& name) {
  environment.erase(name);
  return environment;
}

const Environment& torchrun() {
  static const Environment environment{{"RANK", "1"},
                                       {"WORLD_SIZE", "2"},
                                       {"LOCAL_RANK", "1"},
                                       {"LOCAL_WORLD_SIZE", "2"},
                                       {"MASTER_ADDR", "127.0.0.1"},
                                       {"MASTER_PORT", "29500"}};
  return environment;
}

const Environment& open_mpi() {
  static const Environment environment{
      {"OMPI_COMM_WORLD_RANK", "2"},       {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
      {"PMIX_NAMESPACE", "4097261569"},    {"PMIX_RANK", "2"}};
  return environment;
}

const Environment& hydra() {
  static const Environment environment{{"PMI_RANK", "0"},
                                       {"PMI_SIZE", "2"},
                                       {"MPI_LOCALRANKID", "0"},
                                       {"MPI_LOCALNRANKS", "2"},
                                       {"PMI_FD", "6"}};
  return environment;
}

const Environment& slurm() {
  static const Environment environment{{"SLURM_PROCID", "1"},  {"SLURM_NTASKS", "2"},
                                       {"SLURM_LOCALID", "1"}, {"SLURM_STEP_ID", "0"},
                                       {"SLURM_JOB_ID", "12"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  return environment;
}

TEST_CASE("a token makes another job of another place, and no message shows it", "[ranks]") {
  const RankPlace open = found(torchrun());
  const RankPlace closed = found(with(torchrun(), {{"PTBENCH_TOKEN", "s3cret"}}));
  CHECK(closed.job != open.job);
  CHECK(closed.job != found(with(torchrun(), {{"PTBENCH_TOKEN", "other"}})).job);
  CHECK(closed.place == open.place);
  CHECK_THAT(closed.place, !Contains("s3cret"));
  CHECK_THAT(refusal(with(torchrun(), {{"PTBENCH_TOKEN", std::string(513, 'x')}})),
             Contains("PTBENCH_TOKEN has 513 bytes"));
}

}  // namespace

TEST_CASE("a process that nobody gave a rank is the run", "[app]") {
  const RankPlace place = found({{"PATH", "/bin"}, {"MASTER_ADDR", "x"}, {"LOCAL_RANK", "3"}});
  CHECK(place.source == RankSource::single);
  CHECK(place.rank == 0);
  CHECK(place.world_size == 1);
  CHECK(found({{"RANK", ""}, {"WORLD_SIZE", ""}}).source == RankSource::single);
}

TEST_CASE("each launcher's variables say the rank and name the job", "[app]") {
  const RankPlace torch = found(torchrun());
  CHECK(torch.source == RankSource::torchrun);
  CHECK(torch.rank == 1);
  CHECK(torch.world_size == 2);
  CHECK(torch.local_rank == 1);
  CHECK(torch.job == "MASTER_ADDR:MASTER_PORT 127.0.0.1:29500");
  CHECK(describe(torch, {"vm\x1b", "vm\x1b"}, "shm") ==
        "ranks from torchrun: 2 on 1 host (vm\\x1b), communicator shm");

  const RankPlace mpi = found(open_mpi());
  CHECK(mpi.source == RankSource::open_mpi);
  CHECK(mpi.rank == 2);
  CHECK(mpi.world_size == 4);
  CHECK(mpi.job == "PMIX_NAMESPACE 4097261569");
  CHECK(found(with(without_variable(open_mpi(), "PMIX_NAMESPACE"),
                   {{"OMPI_MCA_ess_base_jobid", "99"}}))
            .job == "OMPI_MCA_ess_base_jobid 99");

  const RankPlace mpich = found(hydra());
  CHECK(mpich.source == RankSource::hydra);
  CHECK(mpich.world_size == 2);
  CHECK(mpich.job == "launcher process 77");
  // They name the job of Slurm or Open MPI in which the launcher runs, which may run others.
  CHECK(found(with(hydra(), {{"PMI_JOBID", "6.0"}, {"PMIX_NAMESPACE", "slurm.pmix.6.0"}})).job ==
        mpich.job);

  const RankPlace step = found(slurm());
  CHECK(step.source == RankSource::slurm);
  CHECK(step.rank == 1);
  CHECK(step.job == "SLURM_JOB_ID.SLURM_STEP_ID 12.0");

  const RankPlace own = found({{"PTBENCH_RANK", "1"},
                               {"PTBENCH_WORLD_SIZE", "3"},
                               {"PTBENCH_LOCAL_RANK", "1"},
                               {"PTBENCH_ADDR", "localhost:29500"}});
  CHECK(own.source == RankSource::ptbench);
  CHECK(own.world_size == 3);
  CHECK(own.place == "PTBENCH_ADDR localhost:29500");
  CHECK(own.launcher == 0);
  CHECK(torch.launcher == 0);  // variables that may have been set by hand
  CHECK(found(with(torchrun(), {{"TORCHELASTIC_RUN_ID", "none"}})).launcher == 77);
  CHECK(mpi.launcher == 77);
}

TEST_CASE("options come first, then ptbench's own variables, torchrun, mpirun, srun", "[app]") {
  // No launcher tells of more ranks than the first one.
  Environment all = with(with(with(with(slurm(), hydra()), open_mpi()), torchrun()),
                         {{"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "4"}});
  all["PTBENCH_ADDR"] = "localhost:1";
  RankClues options = clues_of(all);
  options.rank = 3;
  options.world_size = 4;
  const RankPlace place = find_rank(options);
  CHECK(place.source == RankSource::options);
  CHECK(place.rank == 3);
  CHECK(place.local_rank == 3);
  CHECK(place.job == "PTBENCH_ADDR localhost:1");

  CHECK(found(with(all, {{"PTBENCH_RANK", "0"}, {"PTBENCH_WORLD_SIZE", "2"}})).source ==
        RankSource::ptbench);
  CHECK(found(all).source == RankSource::torchrun);
  CHECK(found(all).job == "PTBENCH_ADDR localhost:1");
  CHECK(found(with(with(slurm(), hydra()), open_mpi())).source == RankSource::open_mpi);
  CHECK(found(with(slurm(), hydra())).source == RankSource::hydra);
}

TEST_CASE("variables of an allocation are not those of a step of several tasks", "[app]") {
  CHECK(found(without_variable(slurm(), "SLURM_STEP_ID")).source == RankSource::single);
  CHECK(found(with(slurm(), {{"SLURM_STEP_ID", "batch"}})).source == RankSource::single);
  CHECK(found(with(slurm(), {{"SLURM_STEP_ID", "4294967290"}})).source == RankSource::single);
  CHECK(found(with(slurm(), {{"SLURM_STEP_NUM_TASKS", "1"}})).source == RankSource::single);
  CHECK(found(without_variable(slurm(), "SLURM_STEP_NUM_TASKS")).source == RankSource::slurm);
  // What srun sets for its tasks.
  CHECK(found(with(slurm(), {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})).source == RankSource::slurm);
  const Environment one_task{{"PMI_RANK", "0"},      {"PMI_SIZE", "1"},
                             {"PMIX_RANK", "0"},     {"PALS_RANKID", "0"},
                             {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"},
                             {"SLURM_NTASKS", "4"},  {"SLURM_PROCID", "0"}};
  CHECK(found(one_task).world_size == 1);
}

TEST_CASE("launchers of supercomputers are known", "[app]") {
  const auto check = [](const Environment& environment, RankSource source, const char* job) {
    const RankPlace place = found(environment);
    CAPTURE(name_of(source));
    CHECK(place.source == source);
    CHECK(place.rank == 1);
    CHECK(place.world_size == 2);
    CHECK(place.local_rank == 1);
    CHECK(place.job == job);
    CHECK(place.launcher == 77);
    const auto launched = find_launched_rank(clues_of(environment));
    REQUIRE(launched);
    CHECK(launched->source == source);
    CHECK(launched->world_size == 2);
  };
  check({{"MV2_COMM_WORLD_RANK", "1"},
         {"MV2_COMM_WORLD_SIZE", "2"},
         {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
         {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}},
        RankSource::mvapich, "launcher process 77");
  const Environment flux{{"FLUX_TASK_RANK", "1"},
                         {"FLUX_JOB_SIZE", "2"},
                         {"FLUX_TASK_LOCAL_ID", "1"},
                         {"FLUX_JOB_NNODES", "1"},
                         {"FLUX_JOB_ID", "4711"}};
  check(flux, RankSource::flux, "FLUX_JOB_ID 4711");
  check({{"JSM_NAMESPACE_RANK", "1"},
         {"JSM_NAMESPACE_SIZE", "2"},
         {"JSM_NAMESPACE_LOCAL_RANK", "1"},
         {"PMIX_RANK", "1"},
         {"PMIX_NAMESPACE", "7"}},
        RankSource::jsrun, "PMIX_NAMESPACE 7");
  const Environment pals{
      {"PALS_RANKID", "1"}, {"PALS_LOCAL_RANKID", "1"}, {"PALS_APID", "a-1"},   {"PMI_RANK", "1"},
      {"PMI_SIZE", "2"},    {"PMI_LOCAL_RANK", "1"},    {"PMI_LOCAL_SIZE", "2"}};
  check(pals, RankSource::pals, "PALS_APID a-1");
  check({{"PALS_RANKID", "1"}, {"PALS_NRANKS", "2"}, {"PALS_APID", "b"}}, RankSource::pals,
        "PALS_APID b");
  check({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, RankSource::pmi, "launcher process 77");
  check({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "prterun-1"}, {"PTBENCH_WORLD_SIZE", "2"}},
        RankSource::pmix, "PMIX_NAMESPACE prterun-1");

  // Slurm may start Flux's brokers, and on a Cray sets PALS_RANKID itself.
  CHECK(found(with(with(slurm(), {{"SLURM_PROCID", "0"}}), flux)).source == RankSource::flux);
  CHECK(found(with(slurm(), pals)).source == RankSource::slurm);
  const Environment task{{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "1"}};
  CHECK(found(with(slurm(), task)).world_size == 1);
  CHECK(found(with(flux, {{"FLUX_JOB_NNODES", "2"}})).several_hosts);
  CHECK_THAT(refusal(without_variable(flux, "FLUX_JOB_SIZE")),
             Contains("FLUX_TASK_RANK is set, and FLUX_JOB_SIZE is not"));
  CHECK(found({{"FLUX_JOB_SIZE", "2"}}).source == RankSource::single);
}

TEST_CASE("ranks of a launcher that names no job meet where MASTER_ADDR says", "[app]") {
  const Environment master{{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29577"}};
  const RankPlace place = found(with(without_variable(open_mpi(), "PMIX_NAMESPACE"), master));
  CHECK(place.source == RankSource::open_mpi);
  CHECK(place.job == "MASTER_ADDR:MASTER_PORT node1:29577");
  CHECK(place.address.host == "node1");
  // It is somebody else's where the job has a name and one host.
  CHECK(found(with(open_mpi(), master)).job == "PMIX_NAMESPACE 4097261569");
  CHECK(found(with(open_mpi(), master)).address.host.empty());
  CHECK(found(with(hydra(), master)).job == "launcher process 77");
  const RankPlace apart =
      found(with(with(open_mpi(), master),
                 {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}));
  CHECK(apart.several_hosts);
  CHECK(apart.address.host == "node1");
}

TEST_CASE("more processes than a run uses are refused, whatever started them", "[app]") {
  const auto check = [](const char* rank, const char* size) {
    const Environment environment{{rank, "1"}, {size, "2"}};
    CHECK_THAT(
        refusal(environment),
        Contains(fmt::format("{} 1 and {} 2 say that a launcher started 2 processes, and this "
                             "run would use 1 of them",
                             rank, size)) &&
            Contains("set PTBENCH_RANK, PTBENCH_WORLD_SIZE and PTBENCH_ADDR=host:port") &&
            Contains(fmt::format("or unset {}", size)));
    const auto launched = find_launched_rank(clues_of(environment));
    REQUIRE(launched);
    CHECK(launched->source == RankSource::unknown);
    CHECK(launched->world_size == 2);
    RankClues options = clues_of(environment);
    options.rank = 0;
    options.world_size = 1;
    CHECK(find_rank(options).world_size == 1);
    CHECK(
        found(with(environment, {{"PTBENCH_RANK", "0"}, {"PTBENCH_WORLD_SIZE", "1"}})).world_size ==
        1);
  };
  check("HOROVOD_RANK", "HOROVOD_SIZE");
  check("MPT_RANK", "MPT_WORLD_SIZE");
  check("XY_WORLD_RANK", "XY_WORLD_SIZE");
  check("XY_RANKID", "XY_NRANKS");
  check("XY_RANK", "XY_NPROCS");
  // A world of one inside a larger one.
  CHECK_THAT(
      refusal(with(open_mpi(), {{"RANK", "0"}, {"WORLD_SIZE", "1"}})),
      Contains("OMPI_COMM_WORLD_RANK 2 and OMPI_COMM_WORLD_SIZE 4") && Contains("1 of them"));
  CHECK_THAT(refusal({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "prterun-1"}}),
             Contains("nothing says how many ranks") && Contains("set PTBENCH_WORLD_SIZE"));

  // What is no launcher's.
  for (const Environment& other : {Environment{{"HOROVOD_RANK", "0"}, {"HOROVOD_SIZE", "1"}},
                                   {{"BATCH_SIZE", "64"}},
                                   {{"XY_RANK", "3"}, {"XY_SIZE", "2"}},
                                   {{"XY_RANK", "high"}, {"XY_SIZE", "2"}},
                                   {{"XY_RANK", "0"}, {"XY_SIZE", "large"}},
                                   {{"HISTSIZE", "1000"}, {"XY_RANK", "0"}},
                                   {{"OMPI_UNIVERSE_SIZE", "4"}},
                                   {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
                                   {{"SIZE", "2"}, {"NRANKS", "2"}}}) {
    CHECK(found(other).source == RankSource::single);
    CHECK_FALSE(find_launched_rank(clues_of(other)));
  }
}

TEST_CASE("ranks may be fewer than the daemons that Slurm started for their launcher", "[app]") {
  const Environment daemon{{"SLURM_PROCID", "1"},         {"SLURM_NTASKS", "4"},
                           {"SLURM_LOCALID", "0"},        {"SLURM_STEP_ID", "0"},
                           {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "12"}};
  const Environment rank = with(open_mpi(), {{"OMPI_COMM_WORLD_RANK", "1"},
                                             {"OMPI_COMM_WORLD_SIZE", "2"},
                                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  const RankPlace place = found(with(daemon, rank));
  CHECK(place.source == RankSource::open_mpi);
  CHECK(place.rank == 1);
  CHECK(place.world_size == 2);
}

TEST_CASE("a world of one needs no meeting", "[app]") {
  const RankPlace place = found({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}});
  CHECK(place.source == RankSource::torchrun);
  CHECK(place.world_size == 1);
  CHECK(place.job.empty());
}

TEST_CASE("on one host the local rank follows from the rank", "[app]") {
  CHECK(found(without_variable(torchrun(), "LOCAL_RANK")).local_rank == found(torchrun()).rank);
  CHECK(found(without_variable(without_variable(torchrun(), "LOCAL_RANK"), "LOCAL_WORLD_SIZE"))
            .local_rank == found(torchrun()).rank);
  CHECK(found(without_variable(open_mpi(), "OMPI_COMM_WORLD_LOCAL_RANK")).local_rank == 2);
  CHECK(found(without_variable(slurm(), "SLURM_LOCALID")).local_rank == 1);
  const Environment several = with(torchrun(), {{"LOCAL_WORLD_SIZE", "1"}});
  CHECK_THAT(refusal(without_variable(several, "LOCAL_RANK")), Contains("LOCAL_RANK is not"));
}

TEST_CASE("the address of a meeting is known in its parts", "[app]") {
  const MeetingAddress torch = found(torchrun()).address;
  CHECK(torch.variable == "MASTER_ADDR");
  CHECK(torch.variables == "MASTER_ADDR and MASTER_PORT");
  CHECK(torch.host == "127.0.0.1");
  const MeetingAddress own = found(with(torchrun(), {{"PTBENCH_ADDR", "localhost:29500"}})).address;
  CHECK(own.variable == "PTBENCH_ADDR");
  CHECK(own.host == "localhost");
  CHECK(found(with(torchrun(), {{"PTBENCH_ADDR", "[fd00::1]:29500"}})).address.host == "fd00::1");
  CHECK(found(open_mpi()).address.variables.empty());
}

TEST_CASE("variables that are missing beside others are named", "[app]") {
  CHECK_THAT(refusal(Environment{{"RANK", "0"}}),
             Contains("RANK is set, and WORLD_SIZE is not") && Contains("unset RANK"));
  CHECK_THAT(refusal(Environment{{"WORLD_SIZE", "2"}}), Contains("and RANK is not"));
  CHECK_THAT(refusal(without_variable(torchrun(), "MASTER_ADDR")), Contains("MASTER_ADDR is not"));
  CHECK_THAT(refusal(without_variable(torchrun(), "MASTER_PORT")), Contains("MASTER_PORT is not"));
  CHECK_THAT(refusal(without_variable(open_mpi(), "OMPI_COMM_WORLD_SIZE")),
             Contains("OMPI_COMM_WORLD_SIZE is not"));
  CHECK_THAT(refusal(without_variable(hydra(), "PMI_SIZE")), Contains("PMI_SIZE is not"));
  CHECK_THAT(refusal(without_variable(slurm(), "SLURM_PROCID")), Contains("SLURM_PROCID is not"));
  CHECK_THAT(refusal(Environment{{"PTBENCH_LOCAL_RANK", "0"}}), Contains("PTBENCH_RANK is not"));
  CHECK_THAT(refusal(Environment{{"PTBENCH_RANK", "0"}, {"PTBENCH_WORLD_SIZE", "2"}}),
             Contains("PTBENCH_ADDR is not set") && Contains("host:port"));
}

TEST_CASE("numbers that cannot be are refused with the variable's name", "[app]") {
  const auto bad = [](const char* name, const char* value) {
    return refusal(with(torchrun(), {{name, value}}));
  };
  CHECK_THAT(bad("RANK", "x\x1b"), Contains("RANK is 'x\\x1b'") && Contains("unset RANK"));
  CHECK_THAT(bad("RANK", "-1"), Contains("RANK is '-1'"));
  CHECK_THAT(bad("RANK", "2"), Contains("RANK 2 with WORLD_SIZE 2: there is no such rank") &&
                                   Contains("from 0 to 1"));
  CHECK_THAT(bad("WORLD_SIZE", "0"), Contains("WORLD_SIZE is '0'"));
  CHECK_THAT(bad("WORLD_SIZE", "4097"), Contains("WORLD_SIZE is '4097'"));
  CHECK_THAT(bad("LOCAL_RANK", "2"), Contains("LOCAL_RANK 2"));
  CHECK_THAT(bad("LOCAL_WORLD_SIZE", "3"), Contains("correct WORLD_SIZE"));
  CHECK_THAT(bad("MASTER_PORT", "65536"), Contains("MASTER_PORT is '65536'"));
  for (const char* address : {"localhost", ":1", "localhost:", "localhost:0", "a b:1", "h:99999"})
    CHECK_THAT(bad("PTBENCH_ADDR", address), Contains("PTBENCH_ADDR is '"));
  CHECK(found(with(torchrun(), {{"PTBENCH_ADDR", "[::1]:29500"}})).job ==
        "PTBENCH_ADDR [::1]:29500");
}

TEST_CASE("options of a place belong together", "[app]") {
  RankClues clues = clues_of({});
  clues.rank = 1;
  CHECK_THAT(refusal(clues), Contains("--rank needs --world-size"));
  clues.world_size = 1;
  CHECK_THAT(refusal(clues), Contains("--rank 1 with --world-size 1"));
  clues.rank.reset();
  CHECK_THAT(refusal(clues), Contains("--world-size needs --rank"));
  clues.world_size.reset();
  clues.local_rank = 0;
  CHECK_THAT(refusal(clues), Contains("--local-rank needs --rank"));
}

TEST_CASE("ranks of several hosts are noticed, unless they are said to be of one", "[app]") {
  CHECK_FALSE(found(torchrun()).several_hosts);
  const Environment two = with(torchrun(), {{"LOCAL_WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}});
  CHECK(found(two).several_hosts);
  const RankPlace joined = found(with(two, {{"PTBENCH_HOST_ID", "a"}}));
  CHECK_FALSE(joined.several_hosts);
  CHECK(joined.local_rank == joined.rank);  // its launcher counted from 0 twice
  const RankPlace by_hand = found({{"PTBENCH_RANK", "1"},
                                   {"PTBENCH_WORLD_SIZE", "2"},
                                   {"PTBENCH_LOCAL_RANK", "0"},
                                   {"PTBENCH_ADDR", "localhost:29500"},
                                   {"PTBENCH_HOST_ID", "a"}});
  CHECK(by_hand.local_rank == 1);
  CHECK(found(with(slurm(), {{"SLURM_STEP_NUM_NODES", "2"}})).several_hosts);
}

}  // namespace ptbench
