#include "app/programs/program_ranks.h"

#include <catch2/catch.hpp>
#include <string>

#include "app/programs/program_messages.h"
#include "app/programs/program_phases.h"
#include "src/base/error.h"

namespace ptbench {
namespace {

using Catch::Contains;

/// What a program sends, as ptbench takes it in.
class Told {
 public:
  explicit Told(std::optional<Size> world = std::nullopt) : ranks(world) { ranks.keep_phases(); }

  void say(Size rank, const std::string& text, std::int64_t granted = 100) {
    ProgramMessage message = parse_program_message(text);
    if (const auto* hello = std::get_if<ProgramHello>(&message))
      (void)ranks.join(*hello);
    else if (auto* report = std::get_if<ProgramReport>(&message))
      ranks.report(rank, std::move(*report), granted);
  }

  /// Why it was refused.
  std::string refused(Size rank, const std::string& text, std::int64_t granted = 100) {
    try {
      say(rank, text, granted);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::failed);
      return error.what();
    }
    return "nothing";
  }

  ProgramRanks ranks;
};

std::string hello(int rank, int world, const std::string& more = "") {
  return R"({"protocol": "ptbench.steps/1", "rank": )" + std::to_string(rank) +
         R"(, "world_size": )" + std::to_string(world) + R"(, "samples": 8)" + more + "}";
}

TEST_CASE("a step is there when all ranks have done it", "[programs]") {
  Told told(2);
  told.say(1, hello(1, 2));
  CHECK_FALSE(told.ranks.is_complete());
  told.say(0, hello(0, 2, R"(, "framework": {"name": "x", "version": "2"}, "unknown": [])"));
  CHECK(told.ranks.is_complete());
  CHECK(told.ranks.samples() == 16);
  CHECK(told.ranks.hellos().front()->framework == "x 2");
  told.say(0, R"({"steps": [[1, 10, 20], [2, 20, 25]], "losses": [[1, 0.5], [2, 0.25]]})");
  CHECK_FALSE(told.ranks.take());
  told.say(1, R"({"steps": [[1, 12, 19]], "losses": [[1, 7]]})");
  CHECK(told.ranks.done() == 1);
  CHECK(told.ranks.slowest() == 1);
  const auto step = told.ranks.take();
  REQUIRE(step);
  CHECK(step->number == 1);
  CHECK(step->nanoseconds == 10);
  CHECK_FALSE(told.ranks.take());
  CHECK(told.ranks.first_loss() == 0.5);
  CHECK(told.ranks.last_loss() == 0.25);
}

TEST_CASE("each breach of the protocol is named", "[programs]") {
  Told told(2);
  CHECK_THAT(told.refused(0, "[]"), Contains("not a JSON object"));
  CHECK_THAT(told.refused(0, R"({"protocol": "ptbench.steps/9"})"), Contains("steps/9"));
  CHECK_THAT(told.refused(0, hello(0, 3)), Contains("--nproc is 2"));
  CHECK_THAT(told.refused(0, hello(2, 2)), Contains("no rank 2"));
  CHECK_THAT(told.refused(0, hello(-1, 2)), Contains("'rank' is not a whole number"));
  CHECK_THAT(told.refused(0, hello(0, 2, R"(, "device": "")")), Contains("'device'"));
  CHECK_THAT(told.refused(0, hello(0, 2, R"(, "tokens": 0)")), Contains("'tokens' is not a whole"));
  told.say(0, hello(0, 2));
  CHECK_THAT(told.refused(0, hello(0, 2)), Contains("there twice"));
  CHECK_THAT(told.refused(1, hello(1, 3)), Contains("others said 2"));
  told.say(1, hello(1, 2));
  CHECK(told.refused(0, R"({"chatter": 1})") == "nothing");
  CHECK_THAT(told.refused(0, R"({"steps": []})"), Contains("no step"));
  CHECK_THAT(told.refused(0, R"({"steps": [[1, 2]]})"), Contains("entries of 3 items"));
  CHECK_THAT(told.refused(0, R"({"steps": [[1, 2, 3.5]]})"), Contains("whole number"));
  CHECK_THAT(told.refused(0, R"({"steps": [[2, 2, 3]]})"), Contains("step 2 comes after step 0"));
  CHECK_THAT(told.refused(0, R"({"steps": [[1, 3, 2]]})"), Contains("begins at 3"));
  CHECK_THAT(told.refused(0, R"({"steps": [[1, 2, 3]]})", 0), Contains("was granted 0"));
  CHECK_THAT(told.refused(0, R"({"steps": [[1, 18446744073709551615, 3]]})"),
             Contains("whole number"));
  told.say(0, R"({"steps": [[1, 2, 30]]})");
  CHECK_THAT(told.refused(0, R"({"steps": [[2, 29, 31]]})"), Contains("ended at 30"));
  CHECK_THAT(told.refused(1, R"({"steps": [[1, 2, 9]], "phases": [[2, "data", 3, 4]]})"),
             Contains("phase of step 2"));
  CHECK_THAT(told.refused(0, R"({"steps": [[2, 30, 31]], "losses": [[2, null]]})"),
             Contains("loss of step 2 is not finite"));
  CHECK_THAT(told.refused(1, R"({"steps": [[2, 9, 31]], "losses": [[2, null]]})"),
             Contains("loss of step 2 on rank 1 is not finite"));
}

TEST_CASE("phases are means over the steps that told any", "[programs]") {
  Told told;
  told.say(0, hello(0, 1));
  told.say(0, R"({"steps": [[1, 0, 1000], [2, 1000, 2000], [3, 2000, 3000]], "phases": [
    [2, "forward", 1000, 1300], [2, "backward", 1300, 1800], [2, "communication", 1500, 1900],
    [2, "communication_exposed", 1800, 1900], [2, "unknown", 1000, 2000],
    [3, "forward", 2000, 2100], [3, "forward", 2200, 2600]]})");
  const ProgramRanks::Observed& observed = told.ranks.observed().front();
  const PhasesRecord phases = phases_of(observed);
  CHECK(phases.forward == Approx(400e-9));
  CHECK(phases.backward == Approx(250e-9));
  CHECK(phases.communication == Approx(200e-9));
  CHECK(phases.communication_exposed == Approx(50e-9));
  CHECK(phases.other == Approx(300e-9));
  CHECK_FALSE(phases.optimizer);
  CHECK(compute_seconds_of(phases) == Approx(650e-9));
  const TraceRecorder trace = trace_of(observed);
  const TraceTrack& track = trace.tracks().front();
  REQUIRE(track.steps().size() == 3);
  REQUIRE(track.spans().size() == 5);
  CHECK(track.spans().front().phase == StepPhase::forward);
  CHECK(track.spans().front().end == Approx(1300e-9));
  REQUIRE(track.collectives().size() == 1);
  CHECK(track.collectives().front().end == Approx(1900e-9));
}

}  // namespace
}  // namespace ptbench
