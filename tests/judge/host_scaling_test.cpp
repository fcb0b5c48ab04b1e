#include "src/judge/host_scaling.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "src/judge/scaling.h"
#include "src/measure/summarize_run.h"

namespace ptbench {
namespace {

constexpr double kTight = 1e-9;

/// A run of `ddp` whose step is always as long, on hosts "a", "b", … with so many ranks each.
struct Hosted {
  std::vector<Size> ranks = {1};  ///< by host
  double step = 0.01;
  Size batch = 64;  ///< of a rank
  std::string strategy = "ddp";
  std::string options = {};  ///< at the end of its id
};

RunRecord hosted(const Hosted& made) {
  RunRecord run;
  run.workload.name = "mlp";
  run.workload.parameters = 1'000'000;
  run.strategy.name = made.strategy;
  run.strategy.hosts = std::ssize(made.ranks);
  run.strategy.communicator = made.ranks.size() > 1 ? "shm+gloo" : "shm";
  run.strategy.bucket_bytes = 1'000'000;
  run.strategy.overlap = false;
  for (std::size_t host = 0; host < made.ranks.size(); ++host)
    for (Size rank = 0; rank < made.ranks[host]; ++rank)
      run.ranks.push_back({.rank = std::ssize(run.ranks),
                           .host = std::string(1, static_cast<char>('a' + host)),
                           .device = "cpu"});
  run.strategy.world_size = std::ssize(run.ranks);
  run.strategy.batch_per_replica = made.batch;
  run.strategy.global_batch = made.batch * run.strategy.world_size;
  run.id = fmt::format("mlp/{}/n{}/b{}/fp32{}", made.strategy, run.strategy.world_size, made.batch,
                       made.options);
  for (int repetition = 0; repetition < 3; ++repetition)
    run.samples.repetitions.push_back(
        {.median_seconds = made.step, .placement = "near", .clean_slices = 1});
  summarize_run(run, PriorNoise());
  if (made.ranks.size() > 1)
    run.link = LinkRecord{.latency_seconds = 0.001,
                          .bandwidth_bytes_per_second = 1e8,
                          .communicator = run.strategy.communicator};
  return run;
}

/// Four ranks on two hosts, and the two of one of them, whose step takes 10 ms.
struct Pair {
  RunRecord run = hosted({.ranks = {2, 2}, .step = 0.06});
  RunRecord one_host = hosted({.ranks = {2}});

  [[nodiscard]] PredictedRecord predicted() const { return predicted_scaling(run, one_host); }
  [[nodiscard]] double step() const { return predicted().step_seconds.value(); }
};

std::vector<RunRecord> scaled_hosts(std::vector<RunRecord> runs, const std::string& one_rank) {
  std::vector<std::optional<ScalingPlan>> plans(
      runs.size(),
      ScalingPlan{.mode = ScalingMode::weak, .baseline = runs.front().id, .one_rank = one_rank});
  plans.front()->one_rank = runs.front().id;  // serial, of another strategy
  add_scaling(runs, plans, PriorNoise());
  return runs;
}

}  // namespace

TEST_CASE("ranks of a host are known where all hosts have as many", "[measure]") {
  CHECK(ranks_per_host(hosted({.ranks = {2, 2}})) == 2);
  CHECK(ranks_per_host(hosted({.ranks = {3}})) == 3);
  CHECK_FALSE(ranks_per_host(hosted({.ranks = {2, 1}})));
  RunRecord run = hosted({.ranks = {2, 2}});
  run.ranks.pop_back();
  CHECK_FALSE(ranks_per_host(run));
  CHECK_FALSE(ranks_per_host(RunRecord()));
}

TEST_CASE("a step over a link takes longer by what crosses it", "[measure]") {
  Pair pair;
  // 4 MB of parameters in 4 buckets, half of gradients and parameters, 2 messages of 1 ms a bucket.
  CHECK(pair.step() == Approx(0.010 + 0.040 + 0.008).epsilon(kTight));
  CHECK(pair.predicted().efficiency_across_hosts.value() == Approx(10.0 / 58).epsilon(kTight));
  CHECK_FALSE(pair.predicted().overlapped_step_seconds);
  CHECK_FALSE(pair.predicted().overlapped_efficiency_across_hosts);
  pair.run.strategy.bucket_bytes = 1'000'001;
  CHECK(pair.step() == Approx(0.058).epsilon(kTight));
  pair.run.strategy.bucket_bytes.reset();
  CHECK(pair.step() == Approx(0.052).epsilon(kTight));
}

TEST_CASE("what crosses a link depends on how values travel", "[measure]") {
  Pair pair;
  pair.run.strategy.communicator = "gloo";  // all gradients of a host, 3/4 of parameters
  CHECK(pair.step() == Approx(0.010 + 0.070 + 4 * 4 * 0.001).epsilon(kTight));
  pair.run.strategy.communicator = "nccl";  // 3/4 of both
  CHECK(pair.step() == Approx(0.010 + 0.060 + 4 * 6 * 0.001).epsilon(kTight));
  pair.run.id += "/reduce-precision=bf16";
  CHECK(pair.step() == Approx(0.010 + 0.045 + 4 * 6 * 0.001).epsilon(kTight));
  pair.run.strategy.communicator = "shm+mpi";  // bf16 goes from rank to rank
  CHECK(pair.step() == Approx(0.010 + 0.020 + 0.020 + 4 * 2 * 0.001).epsilon(kTight));
  pair.run.strategy.communicator = "gloo";
  CHECK(pair.step() == Approx(0.010 + 0.020 + 0.030 + 4 * 4 * 0.001).epsilon(kTight));
}

TEST_CASE("one rank a host sends as much with leaders as without", "[measure]") {
  Pair pair{.run = hosted({.ranks = {1, 1, 1}}), .one_host = hosted({})};
  const double with_leaders = pair.step();
  CHECK(with_leaders == Approx(0.010 + 2 * 0.04 * 2 / 3 + 4 * 3 * 0.001).epsilon(kTight));
  pair.run.strategy.communicator = "gloo";
  CHECK(pair.step() == Approx(with_leaders).epsilon(kTight));
}

TEST_CASE("overlap hides what fits beside backward, but for a bucket", "[measure]") {
  Pair pair;
  pair.run.strategy.overlap = true;
  // The first bucket is ready after forward and a quarter of backward's 6.67 ms.
  CHECK(pair.predicted().overlapped_step_seconds.value() ==
        Approx(0.010 - 0.005 + 0.048).epsilon(kTight));
  CHECK(pair.step() == Approx(0.058).epsilon(kTight));
  pair.run.strategy.accumulation_steps = 2;  // half of backward is of the first micro-batch
  CHECK(pair.predicted().overlapped_step_seconds.value() ==
        Approx(0.010 - 0.0025 + 0.048).epsilon(kTight));
  pair.run.link = LinkRecord{
      .latency_seconds = 0.0001, .bandwidth_bytes_per_second = 1e15, .communicator = "shm+gloo"};
  CHECK(pair.predicted().overlapped_step_seconds.value() == Approx(0.0102).epsilon(1e-6));
  CHECK(pair.predicted().overlapped_efficiency_across_hosts.value() ==
        Approx(100.0 / 102).epsilon(1e-6));
  pair.run.strategy.bucket_bytes.reset();  // all in one bucket, which is ready at the end
  CHECK(pair.predicted().overlapped_step_seconds == pair.predicted().step_seconds);
}

TEST_CASE("in strong scaling each host has its share of the work", "[measure]") {
  Pair pair{.run = hosted({.ranks = {2, 2}, .batch = 32}), .one_host = hosted({.ranks = {2}})};
  CHECK(pair.step() == Approx(0.005 + 0.048).epsilon(kTight));
  CHECK(pair.predicted().efficiency_across_hosts.value() == Approx(5.0 / 53).epsilon(kTight));
}

TEST_CASE("nothing is predicted of what is not known", "[measure]") {
  Pair pair;
  SECTION("another strategy") { pair.run.strategy.name = "ddp-flat"; }
  SECTION("another engine") { pair.run.engine.name = "program"; }
  SECTION("no link") { pair.run.link.reset(); }
  SECTION("no bandwidth") { pair.run.link->bandwidth_bytes_per_second.reset(); }
  SECTION("no latency") { pair.run.link->latency_seconds.reset(); }
  SECTION("no parameters") { pair.run.workload.parameters.reset(); }
  SECTION("no communicator") { pair.run.strategy.communicator.reset(); }
  SECTION("no times") { pair.one_host.throughput.value.reset(); }
  SECTION("hosts that are not alike") { pair.run.ranks.back().host = "c"; }
  CHECK_FALSE(pair.predicted().step_seconds);
  CHECK_FALSE(pair.predicted().efficiency_across_hosts);
}

TEST_CASE("the efficiency against one rank is that within hosts times that across", "[measure]") {
  const auto runs =
      scaled_hosts({hosted({.strategy = "serial"}), hosted({.step = 0.0104}),
                    hosted({.ranks = {2}, .step = 0.013}), hosted({.ranks = {2, 2}, .step = 0.02})},
                   "mlp/ddp/n1/b64/fp32");
  const ScalingRecord& scaling = runs[3].scaling.value();
  CHECK(scaling.one_host == "mlp/ddp/n2/b64/fp32");
  CHECK(scaling.efficiency_within_hosts.value() == Approx(0.8).epsilon(kTight));
  CHECK(scaling.efficiency_across_hosts.value() == Approx(0.65).epsilon(kTight));
  CHECK(scaling.efficiency_vs_one_rank.value() == Approx(0.8 * 0.65).epsilon(kTight));
  const Interval interval = scaling.efficiency_across_hosts_ci95.value();
  CHECK(interval.low <= 0.65);
  CHECK(interval.high >= 0.65);
  CHECK(scaling.predicted.step_seconds.value() == Approx(0.013 + 0.048).epsilon(kTight));
  for (const std::size_t row : {0U, 1U, 2U}) {
    CHECK_FALSE(runs[row].scaling.value().one_host);
    CHECK_FALSE(runs[row].scaling.value().efficiency_across_hosts);
    CHECK_FALSE(runs[row].scaling.value().predicted.step_seconds);
  }
}

TEST_CASE("hosts of one rank are compared with that rank", "[measure]") {
  const auto runs = scaled_hosts(
      {hosted({.strategy = "serial"}), hosted({}), hosted({.ranks = {1, 1}, .step = 0.0125})},
      "mlp/ddp/n1/b64/fp32");
  CHECK(runs[2].scaling.value().one_host == "mlp/ddp/n1/b64/fp32");
  CHECK(runs[2].scaling.value().efficiency_within_hosts == 1);
  CHECK(runs[2].scaling.value().efficiency_across_hosts.value() == Approx(0.8).epsilon(kTight));
}

TEST_CASE("ranks on several hosts are compared with those of one host and the same options",
          "[measure]") {
  const std::string gloo = "/communicator=gloo";
  const auto runs =
      scaled_hosts({hosted({.strategy = "serial"}), hosted({.ranks = {2}, .options = "/threads=2"}),
                    hosted({.ranks = {2}, .step = 0.02, .options = "/threads=2" + gloo}),
                    hosted({.ranks = {2, 2}, .step = 0.02, .options = "/threads=1"}),
                    hosted({.ranks = {2, 2}, .step = 0.025, .options = "/threads=1" + gloo})},
                   "mlp/ddp/n1/b64/fp32");
  CHECK(runs[3].scaling.value().one_host == runs[1].id);
  CHECK(runs[3].scaling.value().efficiency_across_hosts.value() == Approx(0.5).epsilon(kTight));
  CHECK(runs[4].scaling.value().one_host == runs[2].id);
  CHECK(runs[4].scaling.value().efficiency_across_hosts.value() == Approx(0.8).epsilon(kTight));
}

TEST_CASE("no efficiency across hosts is guessed", "[measure]") {
  std::vector<RunRecord> runs{hosted({.strategy = "serial"}), hosted({.ranks = {2}}),
                              hosted({.ranks = {2, 2}, .step = 0.02})};
  SECTION("the ranks of one host were not measured") { runs.erase(runs.begin() + 1); }
  SECTION("they had other options") {
    runs[1] = hosted({.ranks = {2}, .options = "/slow-rank=1:1.3"});
  }
  SECTION("they were on two hosts themselves") { runs[1].strategy.hosts = 2; }
  SECTION("nobody knows where they were") { runs[1].strategy.hosts.reset(); }
  SECTION("hosts are not alike") { runs.back() = hosted({.ranks = {3, 1}}); }
  SECTION("they failed") { runs[1].status = Status::failed; }
  const auto compared = scaled_hosts(runs, "mlp/ddp/n1/b64/fp32");
  const ScalingRecord& scaling = compared.back().scaling.value();
  CHECK(scaling.efficiency);
  CHECK_FALSE(scaling.one_host);
  CHECK_FALSE(scaling.efficiency_within_hosts);
  CHECK_FALSE(scaling.efficiency_across_hosts);
}

TEST_CASE("without a run of one rank nothing is said of efficiency within hosts", "[measure]") {
  const auto runs = scaled_hosts({hosted({.strategy = "serial"}), hosted({.ranks = {2}}),
                                  hosted({.ranks = {2, 2}, .step = 0.02})},
                                 "mlp/ddp/n1/b64/fp32");
  CHECK(runs[2].scaling.value().efficiency_across_hosts.value() == Approx(0.5).epsilon(kTight));
  CHECK_FALSE(runs[2].scaling.value().efficiency_within_hosts);
}

}  // namespace ptbench
