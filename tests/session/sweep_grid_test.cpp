#include "app/session/sweep_grid.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "app/cli/argument_parser.h"
#include "app/config/run_options.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using testing::mentions;
using Words = std::vector<std::string>;

SweepOptions parsed(const Words& words) {
  const OptionTable<SweepOptions> table = sweep_option_table();
  return table.configure(parse_arguments(table.infos(), words).assignments);
}

Topology machine(int cores = 4) {
  Topology topology{.cpu_model = "Some CPU", .cores = {}};
  for (int core = 0; core < cores; ++core) topology.cores.push_back({.cpu = core});
  return topology;
}

std::vector<SweepRow> rows_of(const Words& words, const Topology& topology = machine()) {
  return sweep_rows(parsed(words), topology);
}

Words ids_of(const Words& words, const Topology& topology = machine()) {
  Words ids;
  for (const SweepRow& row : rows_of(words, topology)) ids.push_back(row.id());
  return ids;
}

/// What the row is compared with.
Words references_of(const SweepRow& row) {
  const ScalingPlan& plan = row.scaling.value();
  return {std::string(name_of(plan.mode)), plan.baseline, plan.one_rank};
}

std::string refusal(const Words& words) {
  return testing::refusal_of([&] { return rows_of(words); });
}

std::string model_named(const std::string& name) {
  return R"({"schema": "ptbench.model/1", "name": ")" + name +
         R"(", "input": [10], "classes": 2, "layers": [{"name": "fc", "type": "linear", "outputs": 2}]})";
}

}  // namespace

TEST_CASE("a sweep without lists is one row", "[app]") {
  const std::vector<SweepRow> rows = rows_of({"-w", "linear", "--seed", "3"});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].id() == "linear/serial/n1/b32/fp32");
  CHECK(rows[0].is_possible());
  CHECK(rows[0].arguments == Words{"--workload=linear", "--seed=3"});
}

TEST_CASE("lists span a grid, the first option varying slowest", "[app]") {
  CHECK(ids_of({"--accumulate", "1,4", "-b", "8,16", "-w", "mlp,linear"}) ==
        Words{"mlp/serial/n1/b8/fp32", "mlp/serial/n1/b8/fp32/accumulate=4",
              "mlp/serial/n1/b16/fp32", "mlp/serial/n1/b16/fp32/accumulate=4",
              "linear/serial/n1/b8/fp32", "linear/serial/n1/b8/fp32/accumulate=4",
              "linear/serial/n1/b16/fp32", "linear/serial/n1/b16/fp32/accumulate=4"});
}

TEST_CASE("a row knows what its processes are to be asked for", "[app]") {
  const std::vector<SweepRow> rows =
      rows_of({"-w", "linear", "-b", "8,16", "--threads", "2", "--max-time", "3", "--slowdown",
               "0.1", "-o", "a.json", "--steps", "5"});
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].arguments == Words{"--workload=linear", "--batch-size=16", "--threads=2",
                                   "--steps=5", "--slowdown=0.1"});
  CHECK(rows[1].record.strategy.batch_per_replica == 16);
  CHECK(rows[1].record.strategy.threads == 2);
  CHECK(rows[1].record.workload.name == "linear");
}

TEST_CASE("every option that enters a run's id takes a list, and no other", "[app]") {
  const OptionTable<RunOptions> run = run_option_table();
  const OptionTable<SweepOptions> sweep = sweep_option_table();
  const std::set<std::string> lists{
      "workload",  "strategy",     "batch-size", "global-batch", "nproc",       "accumulate",
      "precision", "loss-scale",   "threads",    "optimizer",    "lr",          "momentum",
      "data",      "weight-decay", "samples",    "shuffle",      "data-workers"};
  for (const std::string& name : lists) {
    INFO(name);
    CHECK(std::ranges::any_of(sweep.infos(), [&](const OptionInfo& option) {
      return option.name == name && option.grid && option.value.ends_with(",...");
    }));
  }
  CHECK(parsed({"--seed", "1"}).common.seed == 1);
  CHECK(mentions(refusal({"--seed", "1,2"}), "--seed is '1,2'"));
  CHECK(mentions(refusal({"--max-time", "1,2"}), "--max-time is '1,2'"));
  CHECK(mentions(refusal({"--slowdown", "0,0.1"}), "--slowdown is '0,0.1'"));
}

TEST_CASE("options that make no sense for several rows are none of a sweep's", "[app]") {
  std::set<std::string> names;
  for (const OptionInfo& option : sweep_option_table().infos()) {
    INFO(option.name);
    CHECK(names.insert(option.name).second);
    CHECK_FALSE(option.group.empty());
  }
  for (const char* name :
       {"loss-log", "save-initial-weights", "save-final-weights", "repeats", "target-noise",
        "trace", "trace-steps", "pass", "keep-plan", "progress-prefix"})
    CHECK_FALSE(names.contains(name));
  for (const char* name : {"rounds", "resume", "binary", "steps", "epochs", "slowdown", "max-time"})
    CHECK(names.contains(name));
}

TEST_CASE("each value of a list is checked as a single one is", "[app]") {
  CHECK(mentions(refusal({"-w", "linear,mpl"}), "did you mean 'mlp'?"));
  CHECK(mentions(refusal({"-s", "serial,seral"}), "did you mean 'serial'?"));
  CHECK(mentions(refusal({"-b", "8,0"}), "--batch-size is '0'"));
  CHECK(mentions(refusal({"-b", "8,"}), "--batch-size has no value"));
  CHECK(mentions(refusal({"-b", ",8"}), "--batch-size has no value"));
  CHECK(mentions(refusal({"-b", "8,,16"}), "--batch-size has no value"));
  CHECK(mentions(refusal({"--shuffle", "on,of"}), "--shuffle"));
  CHECK(mentions(refusal({"--rounds", "0"}), "--rounds is '0'"));
  CHECK(mentions(refusal({"-b", "8", "--global-batch", "8,16"}), "cannot be combined"));
  CHECK(mentions(refusal({"--json", "--binary", "x"}), "cannot be combined"));
}

TEST_CASE("equal configurations are measured once", "[app]") {
  CHECK(ids_of({"-w", "linear", "-b", "32,8,32,032"}) ==
        Words{"linear/serial/n1/b32/fp32", "linear/serial/n1/b8/fp32"});
  CHECK(ids_of({"-w", "linear", "--lr", "0.1,0.10,1e-1"}).size() == 1);
  CHECK(ids_of({"-w", "linear", "--accumulate", "1,4", "--global-batch", "32"}) ==
        Words{"linear/serial/n1/b32/fp32", "linear/serial/n1/b8/fp32/accumulate=4"});
}

TEST_CASE("a strategy of one replica ignores the number of replicas", "[app]") {
  const std::vector<SweepRow> rows = rows_of({"-w", "linear", "-n", "1,2,4"});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].id() == "linear/serial/n1/b32/fp32");
  CHECK(rows[0].arguments == Words{"--workload=linear"});
  CHECK(ids_of({"-w", "linear", "-n", "2"}) == Words{"linear/serial/n1/b32/fp32"});
}

TEST_CASE("impossible combinations are skipped with the reason", "[app]") {
  const std::vector<SweepRow> rows =
      rows_of({"-w", "linear,mlp", "--momentum", "0.5", "--threads", "2"});
  REQUIRE(rows.size() == 2);
  CHECK_FALSE(rows[0].is_possible());
  CHECK(rows[0].record.status == Status::skipped);
  CHECK(rows[0].record.reason ==
        "--momentum does not work with adam; leave it out, or add --optimizer sgd");
  CHECK(rows[0].id() == "linear/serial/n1/b32/fp32/threads=2/momentum=0.5");
  CHECK(rows[0].arguments.empty());
  CHECK(rows[1].is_possible());
}

TEST_CASE("a precision that the machine lacks is skipped", "[app]") {
  const std::vector<SweepRow> rows = rows_of({"-w", "linear", "--precision", "fp16,fp32"});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].id() == "linear/serial/n1/b32/fp16");
  CHECK(mentions(rows[0].record.reason.value_or(""), "--precision fp16"));
  CHECK(rows[1].is_possible());
}

TEST_CASE("ranks that the samples cannot fill are skipped", "[app]") {
  const std::vector<SweepRow> rows = rows_of(
      {"-w", "linear", "-s", "ddp", "-n", "1,4", "--samples", "64", "-b", "32", "--threads", "1"});
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].is_possible());
  CHECK_FALSE(rows[2].is_possible());
  CHECK(mentions(rows[2].record.reason.value_or(""), "; use more --samples"));
}

TEST_CASE("a communicator that a row cannot use is skipped, where it has any use for one",
          "[app]") {
  const std::vector<SweepRow> rows = rows_of(
      {"-w", "linear", "-s", "serial,ddp", "-n", "2", "--device", "cpu", "--communicator", "nccl"});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].is_possible());
  CHECK(mentions(rows[1].record.reason.value_or(""),
                 "moves values of GPUs, but the ranks train on CPUs; leave it out"));
}

TEST_CASE("an interface is for the communicators that take one", "[app]") {
  const Words words{"-w", "linear", "-s", "ddp", "-n", "2", "--device", "cpu"};
  const auto with = [&words](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  // Whether or not this build has gloo.
  const std::vector<SweepRow> rows =
      rows_of(with({"--communicator", "shm,gloo", "--interface", "lo,nowhere0"}));
  const auto row = std::ranges::find(rows, "linear/ddp/n2/b32/fp32", &SweepRow::id);
  REQUIRE(row != rows.end());
  CHECK(row->is_possible());
  CHECK(std::ranges::count(row->arguments, "--interface=lo") == 0);
  CHECK(std::ranges::count_if(rows, [](const SweepRow& one) {
          return mentions(one.id(), "/communicator=gloo/interface=");
        }) == 2);
  CHECK(mentions(refusal(with({"--communicator", "shm", "--interface", "lo"})),
                 "--interface lo: communicator shm has no network interface to choose"));
}

TEST_CASE("rows know whether they read a directory", "[app]") {
  CHECK_FALSE(rows_of({"-w", "linear"})[0].reads_data);
  CHECK(rows_of({"-w", "linear", "--data", "somewhere"})[0].reads_data);
}

TEST_CASE("rows that are impossible in different ways have different ids", "[app]") {
  const Words ids =
      ids_of({"-w", "linear", "--accumulate", "1,3", "--global-batch", "32,31,64,63"});
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
  CHECK(ids.size() == 8);
}

TEST_CASE("a sweep in which nothing is possible is refused", "[app]") {
  CHECK(mentions(refusal({"--precision", "fp16"}), "--precision fp16: CPUs cannot multiply it"));
  const std::string several = refusal({"--precision", "fp16,tf32"});
  CHECK(mentions(several, "none of the 2 rows is possible; the first: --precision fp16"));
  CHECK(mentions(several, "use --precision"));
  CHECK(mentions(refusal({"-w", "absent.json"}), "absent.json"));
}

TEST_CASE("a grid that is too large is refused before it is made", "[app]") {
  std::string many = "1";
  for (int value = 2; value <= 200; ++value) many += "," + std::to_string(value);
  CHECK(mentions(refusal({"-b", many, "--threads", many, "--samples", many}),
                 "more than 10000 rows"));
}

TEST_CASE("model files of one name cannot be told apart", "[app]") {
  const testing::TemporaryDirectory folder;
  const std::string first = folder.write("a.json", model_named("twin"));
  const std::string second = folder.write("b.json", model_named("twin"));
  const std::string third = folder.write("c.json", model_named("other"));
  CHECK(rows_of({"-w", first + "," + third}).size() == 2);
  CHECK(mentions(refusal({"-w", first + "," + second}), "called 'twin'"));
}

TEST_CASE("several ranks are compared with serial, which is added", "[app]") {
  const std::vector<SweepRow> rows = rows_of({"-w", "mlp", "-s", "ddp", "-n", "1,2"}, machine(2));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].id() == "mlp/serial/n1/b128/fp32/threads=1");
  CHECK(rows[0].arguments ==
        Words{"--strategy=serial", "--workload=mlp", "--threads=1", "--batch-size=128"});
  CHECK(rows[0].record.strategy.threads == 1);
  CHECK(rows[1].id() == "mlp/ddp/n1/b128/fp32/threads=1");
  CHECK(rows[2].id() == "mlp/ddp/n2/b128/fp32");
  CHECK(references_of(rows[0]) == Words{"weak", rows[0].id(), rows[0].id()});
  CHECK(references_of(rows[1]) == Words{"weak", rows[0].id(), rows[1].id()});
  CHECK(references_of(rows[2]) == Words{"weak", rows[0].id(), rows[1].id()});
}

TEST_CASE("rows on as many cores as the largest are compared with serial on all of them", "[app]") {
  const std::vector<SweepRow> rows = rows_of({"-w", "mlp", "-s", "ddp", "-n", "1,2"}, machine(2));
  REQUIRE(rows.size() == 4);
  CHECK(rows[3].id() == "mlp/serial/n1/b256/fp32");
  CHECK(rows[3].record.strategy.threads == 2);
  CHECK_FALSE(rows[3].scaling);
  CHECK(rows[2].scaling.value().same_micro_batch.empty());  // the baseline's are as large
  CHECK(rows[0].scaling.value().all_cores.empty());
  CHECK(rows[1].scaling.value().all_cores.empty());
  CHECK(rows[2].scaling.value().all_cores == rows[3].id());
}

TEST_CASE("a sweep of single ranks is compared only where that is asked for", "[app]") {
  for (const SweepRow& row : rows_of({"-w", "linear", "-s", "serial,ddp", "-b", "8,16"}))
    CHECK_FALSE(row.scaling);
  const std::vector<SweepRow> rows =
      rows_of({"-w", "linear", "-s", "serial,grad-accum", "--scaling", "weak"});
  REQUIRE(rows.size() == 3);
  CHECK(references_of(rows[0])[1] == rows[0].id());
  CHECK(rows[1].id() == "linear/serial/n1/b32/fp32/accumulate=4");
  CHECK(references_of(rows[2])[1] == rows[1].id());
}

TEST_CASE("rows of several ranks are compared with nothing where that is not wanted", "[app]") {
  const std::vector<SweepRow> rows =
      rows_of({"-w", "linear", "-s", "ddp", "-n", "1,2", "--scaling", "off"});
  REQUIRE(rows.size() == 2);
  for (const SweepRow& row : rows) CHECK_FALSE(row.scaling);
}

TEST_CASE("rows of other engines stand beside those of the first one", "[app]") {
  const std::vector<SweepRow> rows = rows_of({"-w", "linear,mlp", "--engine", "native,pytorch"});
  REQUIRE(rows.size() == 4);
  for (const SweepRow& row : rows) {
    const bool is_native = row.id().find("engine=") == std::string::npos;
    CHECK(row.first_engine == (is_native ? "" : row.id().substr(0, row.id().find("/engine="))));
  }
  SECTION("whichever is named first") {
    const std::vector<SweepRow> turned = rows_of({"-w", "mlp", "--engine", "pytorch,native"});
    REQUIRE(turned.size() == 2);
    CHECK(turned[0].first_engine.empty());
    CHECK(turned[1].first_engine == turned[0].id());
  }
  SECTION("baselines too") {
    for (const SweepRow& row :
         rows_of({"-w", "mlp", "-s", "ddp", "-n", "2", "--engine", "native,pytorch"})) {
      INFO(row.id());
      CHECK(row.first_engine.empty() == (row.id().find("engine=") == std::string::npos));
    }
  }
  SECTION("one engine has none") {
    for (const SweepRow& row : rows_of({"-w", "mlp", "--engine", "native", "-b", "8,16"}))
      CHECK(row.first_engine.empty());
  }
}

TEST_CASE("a baseline that the grid has is measured once, in its place", "[app]") {
  const Words options{"-w", "linear", "-n", "1,2", "-b", "64", "-s"};
  const auto with = [&](const std::string& strategies) {
    Words words = options;
    words.push_back(strategies);
    return ids_of(words, machine(2));
  };
  CHECK(with("serial,ddp,ddp-flat,ddp-central") ==
        Words{"linear/serial/n1/b64/fp32/threads=1", "linear/ddp/n1/b64/fp32/threads=1",
              "linear/ddp/n2/b64/fp32", "linear/ddp-flat/n1/b64/fp32/threads=1",
              "linear/ddp-flat/n2/b64/fp32", "linear/ddp-central/n1/b64/fp32/threads=1",
              "linear/ddp-central/n2/b64/fp32", "linear/serial/n1/b128/fp32"});
  CHECK(with("ddp,serial") == Words{"linear/ddp/n1/b64/fp32/threads=1", "linear/ddp/n2/b64/fp32",
                                    "linear/serial/n1/b64/fp32/threads=1",
                                    "linear/serial/n1/b128/fp32"});
}

TEST_CASE("each combination of options has a baseline of its own", "[app]") {
  const std::vector<SweepRow> rows =
      rows_of({"-w", "linear", "-s", "ddp", "-n", "2", "-b", "8,16", "--accumulate", "1,2",
               "--optimizer", "sgd", "--bucket-mb", "1,2", "--overlap", "on"},
              machine(2));
  std::set<std::string> baselines;
  for (const SweepRow& row : rows)
    if (row.scaling) baselines.insert(references_of(row)[1]);
  CHECK(baselines ==
        std::set<std::string>{"linear/serial/n1/b8/fp32/threads=1/optimizer=sgd",
                              "linear/serial/n1/b8/fp32/accumulate=2/threads=1/optimizer=sgd",
                              "linear/serial/n1/b16/fp32/threads=1/optimizer=sgd",
                              "linear/serial/n1/b16/fp32/accumulate=2/threads=1/optimizer=sgd"});
  CHECK(rows.size() == 16);  // four of serial training on both cores
  for (const SweepRow& row : rows) CHECK(row.is_possible());
  const auto measured =
      std::ranges::find(rows, "ddp", [](const SweepRow& row) { return row.record.strategy.name; });
  REQUIRE(measured != rows.end());
  CHECK(references_of(*measured)[2] ==
        "linear/ddp/n1/b8/fp32/threads=1/optimizer=sgd/bucket-mb=1/overlap=on");
}

TEST_CASE("serial ignores how ranks communicate where others do", "[app]") {
  CHECK(ids_of({"-w", "linear", "-s", "serial,ddp", "-n", "2", "--bucket-mb", "1,2", "--threads",
                "1"}) == Words{"linear/serial/n1/b32/fp32/threads=1",
                               "linear/ddp/n2/b32/fp32/threads=1/bucket-mb=1",
                               "linear/ddp/n2/b32/fp32/threads=1/bucket-mb=2",
                               "linear/serial/n1/b64/fp32/threads=2"});
  CHECK(mentions(refusal({"-w", "linear", "--bucket-mb", "1,2"}), "none of the 2 rows"));
}

TEST_CASE("strong scaling keeps the global batch", "[app]") {
  SECTION("the one that was given") {
    const std::vector<SweepRow> rows = rows_of({"-w", "linear", "-s", "ddp", "-n", "1,2,4",
                                                "--scaling", "strong", "--global-batch", "64"});
    REQUIRE(rows.size() == 7);
    CHECK(rows[0].id() == "linear/serial/n1/b64/fp32/threads=1");
    CHECK(rows[5].id() == "linear/serial/n1/b16/fp32/threads=1");
    CHECK(rows[6].id() == "linear/serial/n1/b32/fp32/threads=1");
    CHECK_FALSE(rows[6].scaling);
    CHECK(rows[1].scaling.value().same_micro_batch.empty());
    CHECK(rows[2].scaling.value().same_micro_batch == rows[6].id());
    CHECK(rows[3].scaling.value().same_micro_batch == rows[5].id());
    CHECK(rows[4].id() == "linear/serial/n1/b64/fp32");
    CHECK(rows[3].scaling.value().all_cores == rows[4].id());
    CHECK(rows[3].id() == "linear/ddp/n4/b16/fp32");
    CHECK(references_of(rows[3]) == Words{"strong", rows[0].id(), rows[1].id()});
    CHECK(rows[3].record.strategy.global_batch == 64);
  }
  SECTION("the workload's") {
    const Words ids =
        ids_of({"-w", "linear,mlp", "-s", "ddp", "-n", "2", "--scaling", "strong"}, machine(2));
    CHECK(ids == Words{"linear/serial/n1/b32/fp32/threads=1", "linear/ddp/n2/b16/fp32",
                       "mlp/serial/n1/b128/fp32/threads=1", "mlp/ddp/n2/b64/fp32",
                       "linear/serial/n1/b32/fp32", "mlp/serial/n1/b128/fp32",
                       "linear/serial/n1/b16/fp32/threads=1", "mlp/serial/n1/b64/fp32/threads=1"});
  }
  SECTION("in micro-batches") {
    const std::vector<SweepRow> rows = rows_of(
        {"-w", "linear", "-s", "ddp", "-n", "2", "--accumulate", "4", "--scaling", "strong"},
        machine(2));
    REQUIRE(rows.size() == 4);
    CHECK(rows[3].id() == "linear/serial/n1/b4/fp32/accumulate=4/threads=1");
    CHECK(rows[0].id() == "linear/serial/n1/b8/fp32/accumulate=4/threads=1");
    CHECK(rows[1].id() == "linear/ddp/n2/b4/fp32/accumulate=4");
  }
  SECTION("without asking for it") {
    CHECK(references_of(rows_of(
              {"-w", "linear", "-s", "ddp", "-n", "2", "--global-batch", "64"})[1])[0] == "strong");
  }
}

TEST_CASE("a global batch that ranks cannot share is skipped, and the nearest named", "[app]") {
  const std::vector<SweepRow> rows =
      rows_of({"-w", "linear", "-s", "ddp", "-n", "1,3", "--scaling", "strong"});
  REQUIRE(rows.size() == 3);
  CHECK_FALSE(rows[2].is_possible());
  CHECK_FALSE(rows[2].scaling);
  CHECK(rows[2].record.reason ==
        "--global-batch 32 cannot be shared by 3 replicas; the nearest possible one is 33");
}

TEST_CASE("a batch that contradicts the mode of scaling is refused", "[app]") {
  CHECK(mentions(refusal({"--scaling", "strong", "-b", "8"}),
                 "--batch-size sets the batch of each replica"));
  CHECK(mentions(refusal({"--scaling", "weak", "--global-batch", "8"}), "--global-batch"));
  CHECK(mentions(refusal({"--scaling", "wek"}), "did you mean 'weak'?"));
}

TEST_CASE("a launcher starts the rows of several processes", "[app]") {
  const auto rows = rows_of({"-w", "linear", "-s", "dp,ddp", "-n", "1,2", "--threads", "1",
                             "--launcher", "torchrun --nproc-per-node {n} --max-restarts {n}"});
  Words launched;
  for (const SweepRow& row : rows) {
    const bool counts = std::ranges::find(row.arguments, "--nproc=2") != row.arguments.end();
    CHECK(counts == (row.record.strategy.world_size == 2 && !row.launcher));
    if (!row.launcher) continue;
    launched.push_back(row.id());
    CHECK(row.launcher->command == "torchrun --nproc-per-node 2 --max-restarts 2");
    CHECK(row.launcher->ranks == 2);
  }
  CHECK(launched == Words{"linear/ddp/n2/b32/fp32/threads=1"});
}

TEST_CASE("a launcher is told how many ranks to start, and has some to start", "[app]") {
  const std::string deaf = refusal({"-s", "ddp", "-n", "2", "--launcher", "mpirun"});
  CHECK(mentions(deaf, "--launcher 'mpirun' does not say how many ranks"));
  CHECK(mentions(deaf, "mpirun -n {n}"));
  CHECK(mentions(refusal({"-s", "serial,dp", "-n", "1,2", "--launcher", "mpirun -n {n}"}),
                 "--launcher has nothing to start"));
}

TEST_CASE("rows with more ranks than the cores take are skipped, unless they are wanted", "[app]") {
  const std::vector<std::string> words{"-w", "linear", "-s", "ddp", "-n", "2,9", "--threads", "1"};
  const std::vector<SweepRow> rows = rows_of(words, machine(2));
  REQUIRE(rows.size() == 4);  // with serial on one thread and on all cores
  CHECK(rows[1].is_possible());
  CHECK(rows[2].record.status == Status::skipped);
  CHECK(rows[2].record.reason ==
        "--nproc 9: 2 cores take 8 ranks, 4 a core; use --nproc 8 or less, or allow it with "
        "--oversubscribe");
  std::vector<std::string> wanted = words;
  wanted.emplace_back("--oversubscribe");
  for (const SweepRow& row : rows_of(wanted, machine(2))) CHECK(row.is_possible());
}

}  // namespace ptbench
