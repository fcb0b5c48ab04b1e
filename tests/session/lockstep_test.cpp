#include "app/session/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/measure/fake_clock.h"

namespace ptbench {
namespace {

using Words = std::vector<std::string>;

constexpr Bytes kPlenty = 1 << 30;

/// What the takers of a test share.
struct TurnStage {
  Words log;
  testing::FakeClock clock;
  Bytes available = kPlenty;
};

class FakeTaker final : public TurnTaker {
 public:
  FakeTaker(std::string name, TurnStage& stage) : name_(std::move(name)), stage_(stage) {}

  TurnsBegin begin_turns(const std::string& label) override {
    log("begin");
    CHECK(label == "label of " + name_);
    if (begins == TurnsBegin::ready) stage_.available -= takes;
    return begins;
  }
  bool take_turn(const Turn& turn) override {
    CHECK(turn.number == next_number());
    log("turn");
    turns.push_back(turn);
    stage_.clock.pass(turn_seconds);
    return std::ssize(turns) != fails_at;
  }
  bool end_turns(const std::string& set) override {
    log("end");
    CHECK(set == "set");
    return ends_well;
  }
  void abandon_turns() override { log("abandon"); }

  TurnsBegin begins = TurnsBegin::ready;
  Bytes takes = 1 << 20;
  double turn_seconds = 0.2;
  Size fails_at = 0;
  bool ends_well = true;
  std::vector<Turn> turns;

 private:
  void log(const char* what) { stage_.log.push_back(fmt::format("{} {}", what, name_)); }
  [[nodiscard]] Size next_number() const {
    return std::ranges::count_if(stage_.log,
                                 [](const std::string& line) { return line.starts_with("turn "); });
  }

  std::string name_;
  TurnStage& stage_;
};

struct Fixture {
  TurnStage stage;
  FakeTaker a{"A", stage};
  FakeTaker b{"B", stage};
  FakeTaker c{"C", stage};
  std::vector<TurnTaker*> takers{&a, &b};
  LockstepPlan plan;
  std::function<void(std::string_view, double)> show;

  LockstepOutcome measure(std::uint64_t seed = 1) {
    LockstepSet set{.name = "set",
                    .labels = {"label of A", "label of B", "label of C"},
                    .seed = seed,
                    .available_memory = [this] { return stage.available; },
                    .clock = stage.clock,
                    .show = show};
    set.labels.resize(takers.size());
    return measure_in_lockstep(takers, plan, set);
  }

  /// Who had the turns, one letter each.
  [[nodiscard]] std::string order() const {
    std::string letters;
    for (const std::string& line : stage.log)
      if (line.starts_with("turn ")) letters += line.back();
    return letters;
  }
};

bool is_palindrome(const std::string& text) {
  return std::equal(text.begin(), text.end(), text.rbegin());
}

using Outcomes = std::vector<TurnsOutcome>;

}  // namespace

TEST_CASE("turns come in palindromes, and every order is drawn", "[app]") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Fixture fixture;
    fixture.takers = {&fixture.a, &fixture.b, &fixture.c};
    fixture.plan.rounds = 3;
    CHECK(fixture.measure(seed).outcomes == Outcomes(3, TurnsOutcome::measured));
    const std::string order = fixture.order();
    REQUIRE(order.size() == 18);
    for (std::size_t first = 0; first < order.size(); first += 6) {
      CHECK(is_palindrome(order.substr(first, 6)));
      seen.insert(order.substr(first, 3));
    }
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("turns are as long as they were planned, and all processes begin before the first",
          "[app]") {
  Fixture fixture;
  fixture.plan = {.turn_seconds = 0.5, .turn_steps = 7, .rounds = 1};
  (void)fixture.measure();
  REQUIRE(fixture.a.turns.size() == 2);
  CHECK(fixture.a.turns[0].seconds == 0.5);
  CHECK(fixture.a.turns[0].steps == 7);
  CHECK(fixture.stage.log[0].starts_with("begin"));
  CHECK(fixture.stage.log[1].starts_with("begin"));
  CHECK(fixture.stage.log[6].starts_with("end"));
}

TEST_CASE("slow programs take fewer turns, one palindrome at the least", "[app]") {
  Fixture fixture;
  fixture.a.turn_seconds = 30;
  (void)fixture.measure();
  CHECK(fixture.order().size() == 4);
}

TEST_CASE("processes that do not fit into memory together take no turns", "[app]") {
  Fixture fixture;
  fixture.a.takes = fixture.b.takes = kPlenty * 6 / 10;
  const LockstepOutcome outcome = fixture.measure();
  CHECK(outcome.impossible.find("memory") != std::string::npos);
  CHECK(outcome.outcomes.empty());
  CHECK(fixture.order().empty());
  CHECK(std::ranges::count_if(fixture.stage.log, [](const std::string& line) {
          return line.starts_with("abandon");
        }) == 1);
}

TEST_CASE("a program that knows no turns ends them for all", "[app]") {
  Fixture fixture;
  fixture.b.begins = TurnsBegin::impossible;
  const LockstepOutcome outcome = fixture.measure();
  CHECK(outcome.impossible.find("ptbench.steps/1") != std::string::npos);
  CHECK(fixture.order().empty());
}

TEST_CASE("who fails before the turns leaves the others idle", "[app]") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Fixture fixture;
    fixture.b.begins = TurnsBegin::failed;
    const LockstepOutcome outcome = fixture.measure(seed);
    CHECK(outcome.impossible.empty());
    CHECK(outcome.outcomes == Outcomes{TurnsOutcome::idle, TurnsOutcome::failed});
    CHECK(fixture.order().empty());
  }
}

TEST_CASE("who fails in a turn ends them, and the others keep what they have", "[app]") {
  Fixture fixture;
  fixture.b.fails_at = 2;
  const LockstepOutcome outcome = fixture.measure();
  CHECK(outcome.outcomes == Outcomes{TurnsOutcome::measured, TurnsOutcome::failed});
  CHECK(fixture.stage.log.back() == "end A");
}

TEST_CASE("who cannot end its turns has failed", "[app]") {
  Fixture fixture;
  fixture.a.ends_well = false;
  CHECK(fixture.measure().outcomes == Outcomes{TurnsOutcome::failed, TurnsOutcome::measured});
}

TEST_CASE("who waits is told what the set does and how far it is", "[app]") {
  Fixture fixture;
  fixture.plan.rounds = 2;
  fixture.plan.most_seconds = 100;
  std::vector<std::pair<std::string, double>> shown;
  fixture.show = [&](std::string_view doing, double share) { shown.emplace_back(doing, share); };
  (void)fixture.measure();
  CHECK(shown ==
        std::vector<std::pair<std::string, double>>{
            {"starting", 0.0}, {"starting", 0.5}, {"taking turns", 0.0}, {"taking turns", 0.5}});
  Fixture longer;  // turns last 0.2 s
  longer.plan.rounds = 20;
  longer.plan.most_seconds = 1;
  longer.show = fixture.show;
  (void)longer.measure();
  CHECK(shown.back().first == "taking turns");
  CHECK(shown.back().second == Approx(0.8));
}

}  // namespace ptbench
