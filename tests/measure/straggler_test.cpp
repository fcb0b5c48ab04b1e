#include "src/measure/straggler.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace ptbench {
namespace {

using Catch::Contains;

RankRecord rank_of(Size rank, double compute, double wait) {
  return {.rank = rank,
          .host = "here",
          .device = "cpu",
          .compute_seconds = compute,
          .wait_seconds = wait};
}

}  // namespace

TEST_CASE("a rank that computes far longer than the others is named", "[measure]") {
  RunRecord run;
  run.ranks = {rank_of(0, 0.0100, 0), rank_of(1, 0.0112, 0), rank_of(2, 0.0101, 0),
               rank_of(3, 0.0099, 0)};
  const Straggler straggler = find_straggler(run).value();
  CHECK(straggler.rank == 1);
  CHECK(straggler.share == Approx(0.12));
  run.ranks[1].compute_seconds = 0.0104;
  CHECK_FALSE(find_straggler(run));
  run.ranks[1].compute_seconds.reset();
  CHECK_FALSE(find_straggler(run));
  run.ranks.resize(1);
  CHECK_FALSE(find_straggler(run));
  run.ranks = {rank_of(0, 2, 0), rank_of(1, 1, 0)};
  CHECK(find_straggler(run).value().rank == 0);
}

TEST_CASE("a program's ranks are compared where it tells when they wait", "[measure]") {
  RunRecord run;
  run.ranks = {rank_of(0, 2, 0), rank_of(1, 1, 0)};
  run.engine.name = "native";
  CHECK(find_straggler(run));
  run.engine.name = "program";
  CHECK_FALSE(find_straggler(run));
  run.phases_seconds.communication = 0.1;
  CHECK(find_straggler(run));
  run.phases_seconds.communication.reset();
  run.phases_seconds.communication_exposed = 0.1;
  CHECK(find_straggler(run));
}

TEST_CASE("the warning of a straggler goes where there is none", "[measure]") {
  RunRecord run;
  run.ranks = {rank_of(0, 0.01, 0.002), rank_of(1, 0.012, 0)};
  for (int time = 0; time < 2; ++time) add_straggler_warning(run);
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].code == "straggler");
  CHECK_THAT(run.warnings[0].message, Contains("rank 1 computes 20.0 % longer"));
  CHECK_THAT(run.warnings[0].remedy, Contains("Close other programs"));
  run.ranks[1].compute_seconds = 0.01;
  add_straggler_warning(run);
  CHECK(run.warnings.empty());
}

TEST_CASE("a rank that is slow on purpose is named with what makes it slow", "[measure]") {
  RunRecord run;
  run.ranks = {rank_of(0, 0.02, 0), rank_of(1, 0.01, 0.01)};
  struct Named {
    std::string options;
    std::string remedy;
  };
  for (const Named& named : std::vector<Named>{
           {"/shares=96,32", "leave out --shares."},
           {"/slow-rank=0:2", "leave out --slow-rank."},
           {"/shares=96,32/slow-rank=0:2/data=here", "leave out --shares and --slow-rank."},
           {"/shares=32,96", "Close other programs"},
           {"/slow-rank=1:2", "Close other programs"},
           {"/shares=", "Close other programs"}}) {
    CAPTURE(named.options);
    run.id = "mlp/ddp/n2/b64/fp32/threads=1" + named.options;
    add_straggler_warning(run);
    REQUIRE(run.warnings.size() == 1);
    CHECK_THAT(run.warnings[0].message, Contains("rank 0 computes 100 % longer"));
    CHECK_THAT(run.warnings[0].remedy, Contains(named.remedy));
  }
}

TEST_CASE("ranks that share cores are slow in turn, so none is named", "[measure]") {
  RunRecord run;
  run.ranks = {rank_of(0, 0.02, 0), rank_of(1, 0.01, 0.01)};
  run.warnings = {
      {.code = "oversubscribed-cores", .message = "2 threads share 1 core", .remedy = ""}};
  add_straggler_warning(run);
  CHECK(run.warnings.size() == 1);
  run.id = "mlp/ddp/n2/b64/fp32/slow-rank=0:2";
  add_straggler_warning(run);
  REQUIRE(run.warnings.size() == 2);
  CHECK_THAT(run.warnings[1].remedy, Contains("--slow-rank"));
}

}  // namespace ptbench
