// The loop of a sweep, with sessions that only say what they were asked for.
#include "app/session/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/measure/fake_clock.h"

namespace ptbench {
namespace {

using Words = std::vector<std::string>;

/// What the processes of a row do, on one side.
struct Behaviour {
  bool prepares = true;
  Size fails_at = 0;       ///< repetition; 0: never
  Size interrupts_at = 0;  ///< repetition during which the signal comes
  Size unclean = 0;        ///< so many repetitions come first that are not clean
  bool crashes = false;    ///< leaves no record when it fails
  std::string placement = "near";
  std::string plan = "p1";
  double slowdown = 0;
  bool cuts = true;  ///< the interruption leaves part of a repetition
  double throughput = 0;
  std::optional<Error> refusal = std::nullopt;  ///< of its preparation
  bool takes_plans = true;                      ///< that others have chosen
  std::optional<Size> threads = std::nullopt;   ///< that its ranks got
  TurnsBegin turns = TurnsBegin::ready;         ///< how repetitions in turns begin
  Size last_turn = 1'000'000;                   ///< it dies in the one after that
};

/// What all sessions of a test share.
struct Stage {
  std::map<std::string, Behaviour> behaviours;  ///< by "SIDE ID", or "ID" for every side
  Words log;
  std::map<std::size_t, std::vector<ResultFile>> saved;  ///< by side
  Words warnings;
  bool interrupted = false;
  double seconds = 1;  ///< of a repetition
  double turn_seconds = 0;
  double preparing_seconds = 0;
  double starting_seconds = 0;  ///< of a process that takes turns
  std::vector<SessionSetup> setups;
  std::map<std::string, std::string> plans;  ///< by file
  testing::FakeClock clock;
  PriorNoise prior;

  [[nodiscard]] Behaviour behaviour(const SessionSetup& setup) const {
    const auto one_side = behaviours.find(setup.program.string() + " " + setup.id);
    if (one_side != behaviours.end()) return one_side->second;
    const auto every_side = behaviours.find(setup.id);
    return every_side == behaviours.end() ? Behaviour{} : every_side->second;
  }
};

struct OneStage {
  Stage stage;
};

RunRecord row_record(const std::string& id) {
  RunRecord record;
  record.id = id;
  record.workload.name = "mlp";
  record.strategy.name = "serial";
  return record;
}

void add_repetition(RunRecord& record, bool clean, const std::string& placement) {
  const Size repetition = std::ssize(record.samples.repetitions);
  record.samples.step_seconds.push_back(0.001);
  record.samples.slices.push_back({.repetition = repetition,
                                   .first = repetition,
                                   .count = 1,
                                   .clean = clean,
                                   .median_seconds = 0.001,
                                   .core_latency_seconds = 3e-8,
                                   .placement = placement});
  record.samples.repetitions.push_back(
      {.median_seconds = 0.001, .placement = placement, .clean_slices = clean ? 1 : 0});
}

class FakeSession final : public RunSession {
 public:
  FakeSession(const SessionSetup& setup, Stage& stage)
      : stage_(stage),
        behaviour_(stage.behaviour(setup)),
        name_(setup.program.string() + " " + setup.id),
        record_(row_record(setup.id)) {
    stage_.setups.push_back(setup);
    if (setup.launcher) record_.strategy.launcher = setup.launcher->command;
    record_.strategy.threads = behaviour_.threads;
    if (setup.plan_file && !setup.extends_plan && !behaviour_.takes_plans)
      behaviour_.refusal = usage_error("plan file '" + *setup.plan_file + "' is foreign");
    if (setup.plan_file && setup.extends_plan) stage_.plans[*setup.plan_file] = behaviour_.plan;
    if (setup.plan_file && stage_.plans.contains(*setup.plan_file))
      behaviour_.plan = stage_.plans[*setup.plan_file];
  }

  bool prepare() override {
    stage_.log.push_back("prepare " + name_);
    stage_.clock.pass(stage_.preparing_seconds);
    if (behaviour_.refusal) return fail(behaviour_.refusal->what());
    if (!behaviour_.prepares) return fail("it was refused");
    record_.strategy.plan_hash = behaviour_.plan;
    origin_ = ResultFile{};
    origin_->generator.git_commit = "new";
    origin_->environment.host.name = "here";
    return true;
  }

  bool repeat(const std::string& label) override {
    stage_.log.push_back("repeat " + name_);
    labels_.push_back(label);
    stage_.clock.pass(stage_.seconds);
    const auto number = std::ssize(labels_);
    if (number == behaviour_.fails_at) return fail("it ran out of memory");
    if (behaviour_.slowdown > 0) record_.samples.slowdown = behaviour_.slowdown;
    if (number == behaviour_.interrupts_at) {
      if (behaviour_.cuts) add_repetition(record_, true, behaviour_.placement);
      stage_.interrupted = true;
      record_.status = Status::interrupted;
      record_.reason = "stopped by a signal";
      return false;
    }
    add_repetition(record_, number > behaviour_.unclean, behaviour_.placement);
    if (behaviour_.throughput > 0) {
      record_.throughput.value = behaviour_.throughput;
      record_.step_seconds.median = 0.001;
    }
    return true;
  }

  TurnsBegin begin_turns(const std::string& label) override {
    stage_.log.push_back("begin " + name_);
    stage_.clock.pass(stage_.starting_seconds);
    labels_.push_back(label);
    if (behaviour_.turns == TurnsBegin::failed) (void)fail("it ran out of memory");
    return behaviour_.turns;
  }

  bool take_turn(const Turn& turn) override {
    stage_.log.push_back(fmt::format("turn {} {}", turn.number, name_));
    stage_.clock.pass(stage_.turn_seconds);
    return turn.number <= behaviour_.last_turn || fail("it crashed");
  }

  bool end_turns(const std::string& set) override {
    stage_.log.push_back("end " + name_);
    add_repetition(record_, true, behaviour_.placement);
    record_.samples.repetitions.back().lockstep = set;
    return true;
  }

  void abandon_turns() override { stage_.log.push_back("abandon " + name_); }

  void resume(RunRecord earlier) override {
    stage_.log.push_back(
        fmt::format("resume {} after {}", name_, earlier.samples.repetitions.size()));
    for (const RepetitionRecord& repetition : record_.samples.repetitions)
      add_repetition(earlier, repetition.clean_slices > 0, behaviour_.placement);
    earlier.status = record_.status;
    earlier.reason = record_.reason;
    earlier.workload = record_.workload;
    earlier.throughput = record_.throughput;
    earlier.step_seconds = record_.step_seconds;
    record_ = std::move(earlier);
  }

  [[nodiscard]] Size repetitions() const override { return std::ssize(labels_); }
  [[nodiscard]] RunRecord record() const override { return record_; }
  [[nodiscard]] const std::optional<ResultFile>& origin() const override { return origin_; }
  [[nodiscard]] const std::optional<Error>& refusal() const override { return behaviour_.refusal; }

 private:
  bool fail(const std::string& reason) {
    record_.status = Status::failed;
    record_.reason = reason;
    if (behaviour_.crashes) record_.workload.name.clear();
    return false;
  }

  Stage& stage_;
  Behaviour behaviour_;
  std::string name_;
  RunRecord record_;
  std::optional<ResultFile> origin_;
  Words labels_;
};

SweepSurroundings surroundings(Stage& stage) {
  return {.make_session =
              [&stage](const SessionSetup& setup) {
                return std::make_unique<FakeSession>(setup, stage);
              },
          .interrupted = [&stage] { return stage.interrupted; },
          .save = [&stage](std::size_t side,
                           const ResultFile& result) { stage.saved[side].push_back(result); },
          .warn = [&stage](const std::string& message) { stage.warnings.push_back(message); },
          .clock = stage.clock,
          .prior = stage.prior};
}

std::vector<SweepRow> rows_called(const Words& ids) {
  std::vector<SweepRow> rows;
  for (const std::string& id : ids)
    rows.push_back({.record = row_record(id), .arguments = {"--id=" + id}, .scaling = {}});
  return rows;
}

/// The first one is the baseline of all.
std::vector<SweepRow> compared_rows(const Words& ids) {
  std::vector<SweepRow> rows = rows_called(ids);
  for (SweepRow& row : rows)
    row.scaling =
        ScalingPlan{.mode = ScalingMode::weak, .baseline = ids.front(), .one_rank = row.id()};
  return rows;
}

std::vector<SweepSide> sides_called(const Words& programs) {
  std::vector<SweepSide> sides;
  for (const std::string& program : programs) sides.push_back({.program = program});
  return sides;
}

/// What an earlier sweep left: repetitions and status of each row.
struct Earlier {
  std::string id;
  Size repetitions = 0;
  Status status = Status::ok;
  std::string reason = "as it was";
};

std::vector<SweepSide> resumed(const std::vector<Earlier>& runs) {
  ResultFile file;
  file.generator.git_commit = "new";
  for (const Earlier& run : runs) {
    RunRecord record = row_record(run.id);
    record.status = run.status;
    if (run.status != Status::ok) record.reason = run.reason;
    record.strategy.plan_hash = "p1";
    for (Size repetition = 0; repetition < run.repetitions; ++repetition)
      add_repetition(record, true, "near");
    file.runs.push_back(std::move(record));
  }
  std::vector<SweepSide> sides = sides_called({"A"});
  sides[0].earlier = std::move(file);
  return sides;
}

const RunRecord& run_called(const ResultFile& file, std::string_view id) {
  const auto found = std::ranges::find(file.runs, id, &RunRecord::id);
  if (found == file.runs.end()) throw std::runtime_error("no run " + std::string(id));
  return *found;
}

Size repetitions(const ResultFile& file, const std::string& id) {
  return std::ssize(run_called(file, id).samples.repetitions);
}

/// A sweep to its end.
struct Swept {
  ExitCode code;
  std::vector<ResultFile> results;  ///< by side
  std::optional<Error> refusal;
};

Swept sweep(Stage& stage, std::vector<SweepRow> rows, std::vector<SweepSide> sides,
            SweepLength length = {.rounds = 2}) {
  const SweepSurroundings around = surroundings(stage);
  const std::size_t count = sides.size();
  Sweep swept(std::move(rows), std::move(sides), std::move(length), around);
  swept.run();
  std::vector<ResultFile> results;
  for (std::size_t side = 0; side < count; ++side) results.push_back(swept.result(side));
  return {swept.exit_code(), results, swept.refusal()};
}

Size count_of(const Words& log, const std::string& line) { return std::ranges::count(log, line); }

Size turns_of(const Words& log) {
  return std::ranges::count_if(log,
                               [](const std::string& line) { return line.starts_with("turn "); });
}

}  // namespace

TEST_CASE_METHOD(OneStage, "rows are measured in turn, and prepared when their turn comes",
                 "[app]") {
  const Swept swept = sweep(stage, rows_called({"x", "y"}), sides_called({"A"}));
  CHECK(stage.log == Words{"prepare A x", "repeat A x", "prepare A y", "repeat A y", "repeat A x",
                           "repeat A y"});
  CHECK(swept.code == ExitCode::ok);
  REQUIRE(swept.results[0].runs.size() == 2);
  CHECK(repetitions(swept.results[0], "x") == 2);
  CHECK(swept.results[0].generator.git_commit == "new");
  CHECK(stage.warnings.empty());
}

TEST_CASE_METHOD(OneStage, "the time of a row is shared by its rounds", "[app]") {
  (void)sweep(stage, rows_called({"x"}), sides_called({"A"}),
              {.rounds = 4, .min_time_seconds = 2, .max_time_seconds = 20, .plan_file = "p.json"});
  REQUIRE(stage.setups.size() == 1);
  CHECK(stage.setups[0].repetition_seconds == 5);
  CHECK(stage.setups[0].least_seconds == 0.5);
  CHECK(stage.setups[0].plan_file == "p.json");
  CHECK(stage.setups[0].arguments == Words{"--id=x"});
  CHECK_FALSE(stage.setups[0].extends_plan);
  (void)sweep(stage, rows_called({"x"}), sides_called({"A"}),
              {.rounds = 4, .min_time_seconds = 2, .max_time_seconds = 1, .extends_plan = true});
  CHECK(stage.setups[1].extends_plan);
  CHECK(stage.setups[1].least_seconds == 0.25);
}

TEST_CASE_METHOD(OneStage, "a row that fails does not end the sweep", "[app]") {
  stage.behaviours["x"] = {.prepares = false};
  stage.behaviours["y"] = {.fails_at = 2};
  const Swept swept =
      sweep(stage, rows_called({"x", "y", "z"}), sides_called({"A"}), {.rounds = 3});
  CHECK(swept.code == ExitCode::failed);
  CHECK(count_of(stage.log, "repeat A x") == 0);
  CHECK(count_of(stage.log, "repeat A y") == 2);
  CHECK(count_of(stage.log, "repeat A z") == 3);
  CHECK(run_called(swept.results[0], "x").status == Status::failed);
  CHECK(run_called(swept.results[0], "y").reason == "it ran out of memory");
  CHECK(repetitions(swept.results[0], "y") == 1);
  CHECK(run_called(swept.results[0], "z").status == Status::ok);
}

TEST_CASE_METHOD(OneStage, "a process that could describe nothing leaves that to the row",
                 "[app]") {
  stage.behaviours["x"] = {.prepares = false, .crashes = true};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}));
  CHECK(run_called(swept.results[0], "x").workload.name == "mlp");
  CHECK(run_called(swept.results[0], "x").reason == "it was refused");
}

TEST_CASE_METHOD(OneStage, "impossible rows are in the result and are not measured", "[app]") {
  std::vector<SweepRow> rows = rows_called({"x", "y"});
  rows[0].record.status = Status::skipped;
  const Swept swept = sweep(stage, rows, sides_called({"A"}));
  CHECK(swept.code == ExitCode::ok);
  CHECK(run_called(swept.results[0], "x").status == Status::skipped);
  CHECK(count_of(stage.log, "prepare A x") == 0);
  CHECK(repetitions(swept.results[0], "y") == 2);
}

TEST_CASE_METHOD(OneStage, "a row whose data is refused is skipped with reason and remedy",
                 "[app]") {
  stage.behaviours["x"] = {.crashes = true,
                           .refusal = usage_error("too few samples", "use less ranks")};
  std::vector<SweepRow> rows = rows_called({"x", "y"});
  SECTION("in a directory") {
    rows[0].reads_data = true;
    const Swept swept = sweep(stage, rows, sides_called({"A"}));
    CHECK(swept.code == ExitCode::ok);
    CHECK_FALSE(swept.refusal);
    CHECK(run_called(swept.results[0], "x").status == Status::skipped);
    CHECK(run_called(swept.results[0], "x").reason == "too few samples; use less ranks");
    CHECK(run_called(swept.results[0], "x").workload.name == "mlp");
    CHECK(repetitions(swept.results[0], "y") == 2);
  }
  SECTION("as all others") {
    rows.pop_back();
    rows[0].reads_data = true;
    const Swept swept = sweep(stage, rows, sides_called({"A"}));
    REQUIRE(swept.refusal);
    CHECK(swept.refusal->remedy() == "use less ranks");
  }
  SECTION("where its plan may be the reason") {
    rows[0].reads_data = true;
    const SweepLength length{.rounds = 2, .plan_file = "p.json"};
    CHECK(sweep(stage, rows, sides_called({"A"}), length).code == ExitCode::failed);
  }
  SECTION("of its own") { CHECK(sweep(stage, rows, sides_called({"A"})).code == ExitCode::failed); }
}

TEST_CASE_METHOD(OneStage, "remedies name rounds, which a sweep has instead of repeats", "[app]") {
  stage.behaviours["x"] = {.unclean = 100};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}));
  const std::vector<WarningRecord>& warnings = run_called(swept.results[0], "x").warnings;
  const auto few = std::ranges::find(warnings, "few-clean-repetitions", &WarningRecord::code);
  REQUIRE(few != warnings.end());
  CHECK_THAT(few->remedy, Catch::Contains("--rounds") && !Catch::Contains("--repeats"));
}

TEST_CASE_METHOD(OneStage, "what was measured is saved about once a second, and at the end",
                 "[app]") {
  SECTION("long repetitions") {
    (void)sweep(stage, rows_called({"x", "y"}), sides_called({"A"}));
    REQUIRE(stage.saved[0].size() == 5);
    CHECK(stage.saved[0][0].runs.size() == 1);
    CHECK(stage.saved[0][1].runs.size() == 2);
  }
  SECTION("short repetitions") {
    stage.seconds = 0.3;
    (void)sweep(stage, rows_called({"x"}), sides_called({"A"}), {.rounds = 10});
    CHECK(stage.saved[0].size() == 4);  // after the first, the fifth and the ninth
  }
  CHECK(stage.saved[0].back().runs.back().status == Status::ok);
}

TEST_CASE_METHOD(OneStage, "a sweep that is interrupted keeps what was measured", "[app]") {
  stage.behaviours["y"] = {.interrupts_at = 2};
  const Swept swept = sweep(stage, rows_called({"w", "x", "y", "z"}), sides_called({"A"}));
  CHECK(swept.code == ExitCode::interrupted);
  CHECK(stage.log.back() == "repeat A y");
  const ResultFile& saved = stage.saved[0].back();
  CHECK(run_called(saved, "w").status == Status::ok);
  CHECK(run_called(saved, "x").status == Status::ok);
  CHECK(run_called(saved, "y").reason == "stopped by a signal");
  CHECK(run_called(saved, "z").status == Status::interrupted);
  CHECK(run_called(saved, "z").reason == "stopped by a signal after 1 of 2 rounds");
}

TEST_CASE_METHOD(OneStage, "rows that an interrupted sweep never reached are in its result",
                 "[app]") {
  stage.interrupted = true;
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}));
  CHECK(swept.code == ExitCode::interrupted);
  CHECK(stage.log.empty());
  CHECK(run_called(swept.results[0], "x").reason == "stopped by a signal after 0 of 2 rounds");
}

TEST_CASE_METHOD(OneStage, "a sweep goes on where another ended", "[app]") {
  const Swept swept =
      sweep(stage, rows_called({"whole", "part", "cut", "failed", "skipped", "new"}),
            resumed({{"whole", 3},
                     {"part", 1},
                     {"cut", 2, Status::interrupted},
                     {"failed", 2, Status::failed},
                     {"skipped", 0, Status::skipped},
                     {"elsewhere", 1, Status::failed},
                     {"gone", 0, Status::skipped}}),
            {.rounds = 3});
  CHECK(swept.code == ExitCode::ok);
  CHECK(count_of(stage.log, "prepare A whole") == 0);
  CHECK(count_of(stage.log, "resume A part after 1") == 1);
  CHECK(count_of(stage.log, "repeat A part") == 2);
  CHECK(count_of(stage.log, "resume A cut after 1") == 1);
  CHECK(count_of(stage.log, "repeat A cut") == 2);
  CHECK(repetitions(swept.results[0], "cut") == 3);
  for (const char* id : {"failed", "skipped", "new"}) {
    CHECK(count_of(stage.log, std::string("repeat A ") + id) == 3);
    CHECK(run_called(swept.results[0], id).status == Status::ok);
  }
  CHECK(repetitions(swept.results[0], "part") == 3);
  CHECK(run_called(swept.results[0], "cut").status == Status::ok);
  CHECK_FALSE(run_called(swept.results[0], "cut").reason);
  // Another grid's rows are kept, and say nothing about this one.
  CHECK(run_called(swept.results[0], "elsewhere").status == Status::failed);
  CHECK(std::ranges::find(swept.results[0].runs, "gone", &RunRecord::id) ==
        swept.results[0].runs.end());
  CHECK(stage.warnings.empty());
}

TEST_CASE_METHOD(OneStage, "an interrupted row that seems complete is measured once more",
                 "[app]") {
  (void)sweep(stage, rows_called({"x"}), resumed({{"x", 2, Status::interrupted}}));
  CHECK(stage.log == Words{"prepare A x", "repeat A x", "resume A x after 1"});
}

TEST_CASE("rows that were interrupted between repetitions keep all of them", "[app]") {
  Stage first;
  first.behaviours["y"] = {.interrupts_at = 2};
  const Swept cut = sweep(first, rows_called({"x", "y", "z"}), sides_called({"A"}), {.rounds = 3});
  std::vector<SweepSide> sides = sides_called({"A"});
  sides[0].earlier = cut.results[0];
  Stage second;
  const Swept whole = sweep(second, rows_called({"x", "y", "z"}), sides, {.rounds = 3});
  CHECK(count_of(second.log, "resume A x after 2") == 1);
  CHECK(count_of(second.log, "resume A y after 1") == 1);
  CHECK(count_of(second.log, "resume A z after 1") == 1);
  for (const char* id : {"x", "y", "z"}) CHECK(repetitions(whole.results[0], id) == 3);
}

TEST_CASE_METHOD(OneStage, "a signal that cut nothing leaves whole repetitions", "[app]") {
  stage.behaviours["x"] = {.interrupts_at = 2, .cuts = false};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), {.rounds = 3});
  CHECK(run_called(swept.results[0], "x").reason == "stopped by a signal after 1 of 3 rounds");
}

TEST_CASE_METHOD(OneStage, "a row that is measured with another plan or slowdown begins anew",
                 "[app]") {
  stage.behaviours["x"] = {.plan = "p2"};
  stage.behaviours["y"] = {.slowdown = 0.1};
  const Swept swept = sweep(stage, rows_called({"x", "y", "z"}),
                            resumed({{"x", 2}, {"y", 1}, {"z", 1}}), {.rounds = 3});
  for (const char* id : {"x", "y", "z"}) CHECK(repetitions(swept.results[0], id) == 3);
  CHECK(count_of(stage.log, "repeat A x") == 3);
  CHECK(count_of(stage.log, "repeat A y") == 3);
  CHECK(count_of(stage.log, "repeat A z") == 2);
  REQUIRE(stage.warnings.size() == 2);
  CHECK(stage.warnings[0] ==
        "row 'y' starts again, without its 1 earlier repetitions: its --slowdown was 0, and is 0.1 "
        "now");
  CHECK_THAT(stage.warnings[1], Catch::StartsWith("row 'x' starts again") &&
                                    Catch::EndsWith("its plan was p1, and is p2 now"));
}

TEST_CASE_METHOD(OneStage, "ranks of different launchers are not one row", "[app]") {
  std::vector<SweepRow> rows = rows_called({"x", "y"});
  rows[0].launcher = launcher_of("mpirun -n {n}", 2);
  rows[1].launcher = launcher_of("mpirun -n {n}", 2);
  std::vector<SweepSide> sides = resumed({{"x", 2}, {"y", 2}});
  sides[0].earlier->runs[1].strategy.launcher = "mpirun -n 2";
  (void)sweep(stage, rows, sides, {.rounds = 2});
  CHECK(count_of(stage.log, "repeat A x") == 2);
  CHECK(count_of(stage.log, "repeat A y") == 0);
  REQUIRE(stage.warnings.size() == 1);
  CHECK(stage.warnings[0] ==
        "row 'x' starts again: 'ptbench' started its ranks, and now 'mpirun -n 2' does");
}

TEST_CASE_METHOD(OneStage, "what another engine measured without comparison begins anew", "[app]") {
  std::vector<SweepRow> rows = rows_called({"compared", "not", "of a user"});
  for (SweepRow& row : rows) row.starts_program = true;
  rows[2].needs_preparation = false;
  std::vector<SweepSide> sides = resumed({{"compared", 2}, {"not", 2}, {"of a user", 2}});
  sides[0].earlier->runs[0].verification.status = VerificationStatus::passed;
  (void)sweep(stage, rows, sides, {.rounds = 2});
  CHECK(count_of(stage.log, "repeat A compared") == 0);
  CHECK(count_of(stage.log, "repeat A not") == 2);
  CHECK(count_of(stage.log, "repeat A of a user") == 0);
  CHECK(stage.warnings ==
        Words{"row 'not' starts again: its steps had not been compared with ptbench's"});
}

TEST_CASE_METHOD(OneStage,
                 "ranks that their launcher leaves fewer cores than the row has threads fail it",
                 "[app]") {
  stage.behaviours["x"] = {.threads = 1};
  std::vector<SweepRow> rows = rows_called({"x"});
  rows[0].record.strategy.threads = 2;
  rows[0].launcher = launcher_of("mpirun -n {n}", 2);
  const Swept swept = sweep(stage, rows, sides_called({"A"}));
  const RunRecord& run = run_called(swept.results[0], "x");
  CHECK(run.status == Status::failed);
  CHECK_THAT(run.reason.value(), Catch::Contains("cores for 1 threads, and rows here have 2"));
  CHECK(count_of(stage.log, "repeat A x") == 1);
}

TEST_CASE_METHOD(OneStage, "a row that cannot go on keeps what was measured earlier", "[app]") {
  stage.behaviours["x"] = {.prepares = false};
  const Swept swept = sweep(stage, rows_called({"x"}), resumed({{"x", 2}}), {.rounds = 3});
  CHECK(run_called(swept.results[0], "x").status == Status::failed);
  CHECK(repetitions(swept.results[0], "x") == 2);
}

TEST_CASE_METHOD(OneStage, "rounds that were added earlier count when a sweep of builds goes on",
                 "[app]") {
  std::vector<SweepSide> sides = resumed({{"x", 10}});
  sides.push_back(resumed({{"x", 10}})[0]);
  sides[1].program = "B";
  for (SliceRecord& slice : sides[1].earlier->runs[0].samples.slices) slice.placement = "far";
  for (RepetitionRecord& one : sides[1].earlier->runs[0].samples.repetitions) one.placement = "far";
  stage.behaviours["B x"] = {.placement = "far"};
  const Swept swept = sweep(stage, rows_called({"x"}), sides, {.rounds = 5});
  for (const ResultFile& result : swept.results) CHECK(repetitions(result, "x") == 12);
}

TEST_CASE_METHOD(OneStage, "a sweep that goes on elsewhere says so", "[app]") {
  std::vector<SweepSide> sides = resumed({{"x", 1}});
  sides[0].earlier->generator.git_commit = "old";
  (void)sweep(stage, rows_called({"x", "y"}), sides);
  REQUIRE(stage.warnings.size() == 1);
  CHECK_THAT(stage.warnings[0], Catch::Contains("generator.git_commit old / new"));
}

TEST_CASE_METHOD(OneStage, "two builds take turns, none of them always first", "[app]") {
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), {.rounds = 3});
  CHECK(stage.log == Words{"prepare A x", "repeat A x", "prepare B x", "repeat B x", "repeat B x",
                           "repeat A x", "repeat A x", "repeat B x"});
  CHECK(swept.results.size() == 2);
  CHECK(repetitions(swept.results[1], "x") == 3);
  CHECK(stage.saved[1].back().runs.size() == 1);
}

TEST_CASE_METHOD(OneStage,
                 "builds get more rounds until all have three clean repetitions of one class",
                 "[app]") {
  stage.behaviours["B x"] = {.unclean = 4};
  const Swept swept =
      sweep(stage, rows_called({"x", "y"}), sides_called({"A", "B"}), {.rounds = 3});
  for (const ResultFile& result : swept.results) {
    CHECK(repetitions(result, "x") == 7);
    CHECK(repetitions(result, "y") == 3);
  }
  CHECK(swept.code == ExitCode::ok);
}

TEST_CASE_METHOD(OneStage, "fewer rounds than three are topped up where builds are compared",
                 "[app]") {
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), {.rounds = 1});
  CHECK(repetitions(swept.results[0], "x") == 3);
  Stage alone;
  CHECK(repetitions(sweep(alone, rows_called({"x"}), sides_called({"A"}), {.rounds = 1}).results[0],
                    "x") == 1);
}

TEST_CASE_METHOD(OneStage, "builds that never share a class get twelve rounds", "[app]") {
  stage.behaviours["B x"] = {.placement = "far"};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), {.rounds = 5});
  CHECK(repetitions(swept.results[0], "x") == 12);
  CHECK(repetitions(swept.results[1], "x") == 12);
}

TEST_CASE_METHOD(OneStage, "builds plan a row from one choice of operators", "[app]") {
  stage.behaviours["A x"] = {.plan = "p1"};
  stage.behaviours["B x"] = {.plan = "p2"};
  const Swept swept = sweep(stage, rows_called({"x", "y"}), sides_called({"A", "B"}),
                            {.rounds = 3, .plan_folder = "plans"});
  for (const ResultFile& result : swept.results)
    CHECK(run_called(result, "x").strategy.plan_hash == "p1");
  REQUIRE(stage.setups.size() == 4);
  CHECK(stage.setups[0].plan_file == "plans/row-1.json");
  CHECK(stage.setups[0].extends_plan);
  CHECK(stage.setups[1].plan_file == "plans/row-1.json");
  CHECK_FALSE(stage.setups[1].extends_plan);
  CHECK(stage.setups[2].plan_file == "plans/row-2.json");
  CHECK(stage.warnings.empty());
}

TEST_CASE_METHOD(OneStage,
                 "a build that cannot use the others' plan chooses its own, and the user is told",
                 "[app]") {
  stage.behaviours["A x"] = {.plan = "p1"};
  stage.behaviours["B x"] = {.plan = "p2", .takes_plans = false};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
                            {.rounds = 3, .plan_folder = "plans"});
  CHECK(swept.code == ExitCode::ok);
  CHECK(repetitions(swept.results[1], "x") == 3);
  CHECK(run_called(swept.results[1], "x").strategy.plan_hash == "p2");
  REQUIRE(stage.setups.size() == 3);
  CHECK_FALSE(stage.setups[2].plan_file);
  CHECK(stage.warnings ==
        Words{"row 'x': build 2 of 2 shares no plan with others: plan file 'row-1.json' is foreign",
              "row 'x' has another plan in each build (p1 / p2): compare gives no verdict on it "
              "without --ignore-environment"});
}

TEST_CASE_METHOD(OneStage, "where the first build fails, the next one chooses", "[app]") {
  stage.behaviours["A x"] = {.prepares = false};
  (void)sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
              {.rounds = 1, .plan_folder = "plans"});
  REQUIRE(stage.setups.size() == 2);
  CHECK(stage.setups[1].extends_plan);
}

TEST_CASE_METHOD(OneStage, "a refusal that is not the plan's fails the row of a build", "[app]") {
  stage.behaviours["x"] = {.refusal = usage_error("it needs too much memory")};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
                            {.rounds = 1, .plan_folder = "plans"});
  CHECK(swept.code == ExitCode::failed);
  CHECK(run_called(swept.results[1], "x").reason == "it needs too much memory");
  CHECK(stage.warnings.empty());
}

TEST_CASE_METHOD(OneStage, "builds that go on share one plan too, or begin anew", "[app]") {
  std::vector<SweepSide> sides = resumed({{"x", 3}, {"y", 3}});
  sides.push_back(resumed({{"x", 2}, {"y", 2}})[0]);
  sides[1].program = "B";
  stage.behaviours["B x"] = {.plan = "p2"};
  const Swept swept =
      sweep(stage, rows_called({"x", "y"}), sides, {.rounds = 3, .plan_folder = "plans"});
  for (const ResultFile& result : swept.results) {
    CHECK(repetitions(result, "x") == 3);
    CHECK(run_called(result, "x").strategy.plan_hash == "p2");
    CHECK(repetitions(result, "y") == 3);
  }
  CHECK(count_of(stage.log, "repeat A x") == 3);
  CHECK(count_of(stage.log, "repeat B x") == 3);
  CHECK(count_of(stage.log, "repeat A y") == 0);
  CHECK(count_of(stage.log, "repeat B y") == 1);
  CHECK(stage.warnings.size() == 2);
}

TEST_CASE_METHOD(OneStage, "a row that begins anew in an added round gets all of its rounds",
                 "[app]") {
  std::vector<SweepSide> sides = resumed({{"x", 5}});
  sides.push_back(resumed({{"x", 5}})[0]);
  sides[1].program = "B";
  for (SliceRecord& slice : sides[1].earlier->runs[0].samples.slices) slice.placement = "far";
  for (RepetitionRecord& one : sides[1].earlier->runs[0].samples.repetitions) one.placement = "far";
  stage.behaviours["A x"] = {.plan = "p2"};
  stage.behaviours["B x"] = {.placement = "far", .plan = "p2"};
  const Swept swept =
      sweep(stage, rows_called({"x"}), sides, {.rounds = 5, .plan_folder = "plans"});
  for (const ResultFile& result : swept.results) CHECK(repetitions(result, "x") == 12);
}

TEST_CASE_METHOD(OneStage, "more rounds do not help a row that fails in one of the builds",
                 "[app]") {
  stage.behaviours["B x"] = {.fails_at = 2};
  stage.behaviours["A x"] = {.unclean = 100};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), {.rounds = 3});
  CHECK(repetitions(swept.results[0], "x") == 3);
  CHECK(swept.code == ExitCode::failed);
}

TEST_CASE_METHOD(OneStage, "the builds of a row take turns where that is asked for", "[app]") {
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
                            {.rounds = 3, .lockstep = LockstepPlan{.rounds = 2}});
  CHECK(swept.code == ExitCode::ok);
  CHECK(count_of(stage.log, "repeat A x") + count_of(stage.log, "repeat B x") == 0);
  CHECK(turns_of(stage.log) == 3 * 2 * 4);
  const auto& a = run_called(swept.results[0], "x").samples.repetitions;
  const auto& b = run_called(swept.results[1], "x").samples.repetitions;
  REQUIRE(a.size() == 3);
  REQUIRE(b.size() == 3);
  for (std::size_t round = 0; round < 3; ++round) CHECK(a[round].lockstep == b[round].lockstep);
  CHECK(a[0].lockstep != a[1].lockstep);
  CHECK(stage.warnings.empty());
}

TEST_CASE_METHOD(OneStage,
                 "a build that knows no turns is measured by whole processes, and that is said",
                 "[app]") {
  stage.behaviours["A x"] = {.turns = TurnsBegin::impossible};
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
                            {.rounds = 3, .lockstep = LockstepPlan()});
  CHECK(repetitions(swept.results[0], "x") == 3);
  CHECK(count_of(stage.log, "repeat B x") == 3);
  CHECK(count_of(stage.log, "begin A x") == 1);
  REQUIRE(stage.warnings.size() == 1);
  CHECK(stage.warnings[0].find("whole processes") != std::string::npos);
}

TEST_CASE_METHOD(OneStage, "a build that fails in lockstep fails alone", "[app]") {
  SECTION("before its first turn") {
    stage.behaviours["B x"] = {.turns = TurnsBegin::failed};
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
                              {.rounds = 2, .lockstep = LockstepPlan()});
    CHECK(swept.code == ExitCode::failed);
    CHECK(run_called(swept.results[1], "x").reason == "it ran out of memory");
    CHECK(run_called(swept.results[0], "x").status == Status::ok);
    CHECK(count_of(stage.log, "begin B x") == 1);
  }
  SECTION("in a turn") {
    stage.behaviours["B x"] = {.last_turn = 3};
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}),
                              {.rounds = 2, .lockstep = LockstepPlan()});
    CHECK(swept.code == ExitCode::failed);
    CHECK(run_called(swept.results[1], "x").reason == "it crashed");
    CHECK(repetitions(swept.results[0], "x") == 2);  // the second one by itself
    CHECK(count_of(stage.log, "end A x") == 1);
  }
}

TEST_CASE_METHOD(OneStage, "the rows of a workload take turns with each other", "[app]") {
  std::vector<SweepRow> rows = compared_rows({"base", "x", "y", "z"});
  rows[1].record.strategy.world_size = 4;
  rows[2].record.workload.name = "resnet18";
  const Swept swept =
      sweep(stage, std::move(rows), sides_called({"A"}), {.rounds = 3, .lockstep = LockstepPlan()});
  CHECK(swept.code == ExitCode::ok);
  CHECK(stage.warnings.empty());
  CHECK(count_of(stage.log, "begin A base") == 3);
  CHECK(count_of(stage.log, "repeat A y") == 3);  // alone with its workload
  CHECK(count_of(stage.log, "repeat A x") == 0);
  const auto& base = run_called(swept.results[0], "base").samples.repetitions;
  REQUIRE(base.size() == 3);
  for (const char* other : {"x", "z"}) {
    const auto& run = run_called(swept.results[0], other).samples.repetitions;
    REQUIRE(run.size() == 3);
    for (std::size_t round = 0; round < 3; ++round)
      CHECK(run[round].lockstep == base[round].lockstep);
  }
  // The row that needs most memory begins, so that the others are known to fit.
  for (const std::string& line : stage.log) {
    if (!line.starts_with("begin ")) continue;
    CHECK(line == "begin A x");
    break;
  }
}

TEST_CASE_METHOD(OneStage, "rows in turns last as long as rows do", "[app]") {
  SECTION("at least") {
    (void)sweep(stage, rows_called({"x", "y"}), sides_called({"A"}),
                {.rounds = 1, .min_time_seconds = 12, .lockstep = LockstepPlan()});
    // 12 s of each row are 200 palindromes, of two turns of 30 ms each.
    CHECK(turns_of(stage.log) == 200 * 4);
  }
  SECTION("at the most") {
    stage.turn_seconds = 1;
    (void)sweep(stage, rows_called({"x", "y"}), sides_called({"A"}),
                {.rounds = 1, .max_time_seconds = 6, .lockstep = LockstepPlan()});
    CHECK(turns_of(stage.log) == 12);
  }
}

TEST_CASE_METHOD(OneStage, "a row that fails leaves the others to take turns", "[app]") {
  SECTION("in its preparation") { stage.behaviours["y"] = {.prepares = false}; }
  SECTION("in a turn") { stage.behaviours["y"] = {.last_turn = 7}; }
  SECTION("when it begins: that round is measured by whole processes") {
    stage.behaviours["y"] = {.turns = TurnsBegin::failed};
  }
  const Swept swept = sweep(stage, rows_called({"x", "y", "z"}), sides_called({"A"}),
                            {.rounds = 2, .lockstep = LockstepPlan()});
  CHECK(swept.code == ExitCode::failed);
  CHECK(run_called(swept.results[0], "y").status == Status::failed);
  for (const char* other : {"x", "z"}) {
    CHECK(run_called(swept.results[0], other).status == Status::ok);
    CHECK(repetitions(swept.results[0], other) == 2);
  }
  CHECK(count_of(stage.log, "end A x") + count_of(stage.log, "repeat A x") == 2);
  CHECK(run_called(swept.results[0], "x").samples.repetitions[1].lockstep.has_value());
}

TEST_CASE_METHOD(OneStage, "rows with loader threads take no turns", "[app]") {
  std::vector<SweepRow> rows = rows_called({"x"});
  rows[0].record.data.workers = 2;
  const Swept swept = sweep(stage, std::move(rows), sides_called({"A", "B"}),
                            {.rounds = 3, .lockstep = LockstepPlan()});
  CHECK(count_of(stage.log, "repeat B x") == 3);
  CHECK(count_of(stage.log, "begin B x") == 0);
  REQUIRE(stage.warnings.size() == 1);
  CHECK(stage.warnings[0].find("--data-workers") != std::string::npos);
}

TEST_CASE_METHOD(OneStage, "a row that is only measured to be compared ends with a side", "[app]") {
  stage.behaviours["B x"] = {.prepares = false};
  SweepLength length{.rounds = 6};
  length.lockstep = LockstepPlan();
  length.needs_more = [](std::span<const RunRecord* const>) { return true; };
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), std::move(length));
  CHECK(swept.code == ExitCode::failed);
  CHECK(count_of(stage.log, "repeat A x") == 0);
}

TEST_CASE_METHOD(OneStage, "no two sets that take turns have one name, begun anew or not",
                 "[app]") {
  std::vector<SweepSide> sides = resumed({{"x", 2}});
  sides.push_back(resumed({{"x", 2}}).front());
  sides[1].program = "B";
  stage.behaviours["x"] = {.plan = "p2"};
  const Swept swept =
      sweep(stage, rows_called({"x"}), std::move(sides), {.rounds = 5, .lockstep = LockstepPlan()});
  std::set<std::string> names;
  Size sets = 0;
  for (const RepetitionRecord& one : run_called(swept.results[0], "x").samples.repetitions) {
    if (!one.lockstep) continue;
    ++sets;
    names.insert(*one.lockstep);
  }
  CHECK(sets > 1);
  CHECK(std::ssize(names) == sets);
}

TEST_CASE_METHOD(OneStage, "no more than sixteen rows are alive at a time", "[app]") {
  Words ids;
  for (int row = 0; row < 40; ++row) ids.push_back(fmt::format("x{}", row));
  const Swept swept = sweep(stage, rows_called(ids), sides_called({"A"}),
                            {.rounds = 1, .lockstep = LockstepPlan()});
  Size alive = 0;
  Size most = 0;
  for (const std::string& line : stage.log) {
    alive += line.starts_with("begin ") ? 1 : line.starts_with("end ") ? -1 : 0;
    most = std::max(most, alive);
  }
  CHECK(most == 16);
  for (const std::string& id : ids) CHECK(repetitions(swept.results[0], id) == 1);
}

TEST_CASE("engines that are compared are alive together, however many rows there are", "[app]") {
  constexpr std::size_t kRows = 11;
  Stage stage;
  Words ids;
  for (const char* engine : {"own", "other"})
    for (std::size_t row = 0; row < kRows; ++row) ids.push_back(fmt::format("{}{}", engine, row));
  std::vector<SweepRow> rows = rows_called(ids);
  for (std::size_t row = 0; row < kRows; ++row) rows[kRows + row].first_engine = ids[row];
  const Swept swept =
      sweep(stage, std::move(rows), sides_called({"A"}), {.rounds = 1, .lockstep = LockstepPlan()});
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto set_of = [&](const std::string& id) {
      return run_called(swept.results[0], id).samples.repetitions.at(0).lockstep.value();
    };
    CHECK(set_of(ids[row]) == set_of(ids[kRows + row]));
  }
}

TEST_CASE_METHOD(OneStage, "who asks for more rounds is asked with what all sides have", "[app]") {
  Size asked = 0;
  SweepLength length{.rounds = 2};
  length.lockstep = LockstepPlan();
  length.most_rounds = 9;
  length.needs_more = [&](std::span<const RunRecord* const> sides) {
    ++asked;
    REQUIRE(sides.size() == 2);
    CHECK(sides[0]->samples.repetitions.size() == sides[1]->samples.repetitions.size());
    return sides[0]->samples.repetitions.size() < 5;
  };
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), std::move(length));
  CHECK(repetitions(swept.results[0], "x") == 5);
  CHECK(asked == 9 - 2);
}

TEST_CASE_METHOD(OneStage, "no round begins when the time is over, but the first", "[app]") {
  stage.seconds = 10;
  SweepLength length{.rounds = 4};
  length.last_begin_seconds = 15;
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), std::move(length));
  CHECK(repetitions(swept.results[0], "x") == 2);
}

TEST_CASE_METHOD(OneStage, "rows are compared with their baseline", "[app]") {
  stage.behaviours["base"] = {.throughput = 100};
  stage.behaviours["x"] = {.throughput = 150};
  const Swept swept =
      sweep(stage, compared_rows({"base", "x"}), sides_called({"A"}), {.rounds = 3});
  CHECK(run_called(swept.results[0], "base").scaling.value().speedup == 1);
  const ScalingRecord& scaling = run_called(swept.results[0], "x").scaling.value();
  CHECK(scaling.baseline == "base");
  CHECK(scaling.speedup == 1.5);
  CHECK(scaling.efficiency_ci95);
  CHECK(run_called(stage.saved[0].back(), "x").scaling);
  CHECK(run_called(swept.results[0], "x").warnings.empty());
}

TEST_CASE_METHOD(OneStage, "rows of another engine are set beside the first one's", "[app]") {
  stage.behaviours["own"] = {.throughput = 150};
  stage.behaviours["other"] = {.throughput = 100};
  std::vector<SweepRow> rows = rows_called({"own", "other"});
  rows[1].first_engine = "own";
  const Swept swept = sweep(stage, std::move(rows), sides_called({"A"}), {.rounds = 3});
  CHECK_FALSE(run_called(swept.results[0], "own").versus);
  const VersusRecord& versus = run_called(swept.results[0], "other").versus.value();
  CHECK(versus.run == "own");
  CHECK(versus.step_time_ratio.value() == Approx(1.5));
  CHECK(versus.step_time_ratio_ci95);
  CHECK(run_called(stage.saved[0].back(), "other").versus);
}

TEST_CASE_METHOD(OneStage, "rows whose baseline fails are measured all the same", "[app]") {
  stage.behaviours["base"] = {.fails_at = 1};
  stage.behaviours["x"] = {.throughput = 150};
  const Swept swept = sweep(stage, compared_rows({"base", "x"}), sides_called({"A"}));
  CHECK(swept.code == ExitCode::failed);
  const RunRecord& run = run_called(swept.results[0], "x");
  CHECK(run.status == Status::ok);
  CHECK_FALSE(run.scaling);
  CHECK(std::ranges::count(run.warnings, "no-baseline", &WarningRecord::code) == 1);
}

TEST_CASE_METHOD(OneStage, "a sweep that goes on compares anew", "[app]") {
  stage.behaviours["base"] = {.throughput = 100};
  stage.behaviours["x"] = {.throughput = 150};
  std::vector<SweepSide> sides = resumed({{"x", 1}, {"elsewhere", 1}});
  for (RunRecord& run : sides[0].earlier->runs) {
    run.scaling.emplace().speedup = 7;
    run.warnings = {{.code = "no-baseline", .message = "none", .remedy = ""}};
  }
  const Swept swept = sweep(stage, compared_rows({"base", "x"}), sides, {.rounds = 3});
  CHECK(run_called(swept.results[0], "x").scaling.value().speedup == 1.5);
  CHECK(run_called(swept.results[0], "x").warnings.empty());
  CHECK(run_called(swept.results[0], "elsewhere").scaling.value().speedup == 7);
}

TEST_CASE_METHOD(OneStage, "each build is compared with its own baseline", "[app]") {
  stage.behaviours["A base"] = {.throughput = 100};
  stage.behaviours["B base"] = {.throughput = 200};
  stage.behaviours["x"] = {.throughput = 150};
  const Swept swept = sweep(stage, compared_rows({"base", "x"}), sides_called({"A", "B"}));
  CHECK(run_called(swept.results[0], "x").scaling.value().speedup == 1.5);
  CHECK(run_called(swept.results[1], "x").scaling.value().speedup == 0.75);
}

TEST_CASE("a rank that keeps the others waiting is named", "[app]") {
  std::vector<SweepSide> sides = resumed({{"x", 2}});
  for (const double seconds : {0.01, 0.02})
    sides[0].earlier->runs[0].ranks.push_back({.rank = std::ssize(sides[0].earlier->runs[0].ranks),
                                               .host = "here",
                                               .device = "cpu",
                                               .compute_seconds = seconds,
                                               .wait_seconds = 0});
  Stage stage;
  const Swept swept = sweep(stage, rows_called({"x"}), sides);
  const std::vector<WarningRecord>& warnings = run_called(swept.results[0], "x").warnings;
  CHECK(std::ranges::count(warnings, "straggler", &WarningRecord::code) == 1);
}

TEST_CASE_METHOD(OneStage, "what a session throws ends the sweep, and what was saved stays",
                 "[app]") {
  SweepSurroundings around = surroundings(stage);
  around.make_session = [&](const SessionSetup& setup) -> std::unique_ptr<RunSession> {
    if (setup.id == "y") throw std::runtime_error("no room for temporary files");
    return std::make_unique<FakeSession>(setup, stage);
  };
  Sweep swept(rows_called({"x", "y"}), sides_called({"A"}), {.rounds = 2}, around);
  CHECK_THROWS_WITH(swept.run(), "no room for temporary files");
  CHECK(repetitions(stage.saved[0].back(), "x") == 1);
}

TEST_CASE_METHOD(OneStage, "no round begins that would not fit into the time of its rows",
                 "[app]") {
  stage.seconds = 9;  // starting and warming up included, which nobody counts for the sweep
  const SweepLength length{.rounds = 5, .max_time_seconds = 20};
  SECTION("measured by themselves") {
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), length);
    CHECK(repetitions(swept.results[0], "x") == 2);
    CHECK(run_called(swept.results[0], "x").samples.stop_reason == StopReason::max_time);
    CHECK(stage.warnings ==
          Words{"row 'x' ends with 2 of 5 rounds: a round takes 9 s, starting and "
                "warming up included, and --max-time gives it 20 s"});
    CHECK(swept.code == ExitCode::ok);
  }
  SECTION("the time of all rows of a workload is one") {
    const Swept swept = sweep(stage, rows_called({"x", "y"}), sides_called({"A"}), length);
    for (const char* const id : {"x", "y"}) CHECK(repetitions(swept.results[0], id) == 2);
    CHECK(stage.warnings == Words{"the 2 rows of mlp end with 2 of 5 rounds: a round takes 18 s, "
                                  "starting and warming up included, and --max-time gives each row "
                                  "20 s"});
  }
  SECTION("the first round is measured in any case") {
    stage.seconds = 100;
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), length);
    CHECK(repetitions(swept.results[0], "x") == 1);
  }
  SECTION("rounds that are asked for are all measured, and that is said once") {
    SweepLength asked = length;
    asked.rounds_are_asked = true;
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), asked);
    CHECK(repetitions(swept.results[0], "x") == 5);
    CHECK(stage.warnings ==
          Words{"row 'x' takes about 30 seconds longer, past --max-time, for "
                "--rounds 5: a round takes 9 s, starting and warming up included, "
                "and --max-time gives it 20 s"});
  }
  SECTION("a row of fixed length has no such time") {
    SweepLength fixed = length;
    fixed.is_fixed = true;
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), fixed);
    CHECK(repetitions(swept.results[0], "x") == 5);
    CHECK(stage.warnings.empty());
  }
  SECTION("preparing is not a part of it") {
    stage.preparing_seconds = 60;
    stage.seconds = 3;
    const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A"}), length);
    CHECK(repetitions(swept.results[0], "x") == 5);
    CHECK(stage.warnings.empty());
  }
}

TEST_CASE_METHOD(OneStage, "turns are fewer where starting takes the time of a row", "[app]") {
  stage.starting_seconds = 3;  // of each process
  stage.turn_seconds = 0.5;
  // 6 s of each round are of both rows: the turns of the first one end after these, and those of
  // later ones after half of them.
  const Swept swept = sweep(stage, rows_called({"x", "y"}), sides_called({"A"}),
                            {.rounds = 5, .max_time_seconds = 15, .lockstep = LockstepPlan()});
  const Size rounds = repetitions(swept.results[0], "x");
  CHECK(rounds == 3);  // 12 + 10 + 10 s: another one would go beyond 30 s
  CHECK(turns_of(stage.log) == 4 * 3 + (rounds - 1) * 4 * 2);
}

TEST_CASE_METHOD(OneStage, "a sweep tells how many rounds are through, and what goes on", "[app]") {
  stage.behaviours["y"] = {.fails_at = 1};
  std::vector<std::pair<double, std::string>> told;
  SweepSurroundings around = surroundings(stage);
  around.reach = [&](double rounds, const std::string& place) { told.emplace_back(rounds, place); };
  Sweep swept(rows_called({"x", "y"}), sides_called({"A"}), {.rounds = 2}, around);
  CHECK(swept.rounds_done() == 0);
  swept.run();
  CHECK(told == std::vector<std::pair<double, std::string>>{{0, "preparing row 1 of 2"},
                                                            {0, "row 1 of 2, round 1 of 2"},
                                                            {0.5, "preparing row 2 of 2"},
                                                            {0.5, "row 2 of 2, round 1 of 2"},
                                                            {1.5, "row 1 of 2, round 2 of 2"}});
  CHECK(swept.rounds_done() == 2);
}

TEST_CASE_METHOD(OneStage, "a sweep in turns tells how far a round has come", "[app]") {
  stage.turn_seconds = 1;
  std::vector<double> told;
  SweepSurroundings around = surroundings(stage);
  around.reach = [&](double rounds, const std::string&) { told.push_back(rounds); };
  Sweep swept(rows_called({"x", "y"}), sides_called({"A"}),
              {.rounds = 1, .lockstep = LockstepPlan()}, around);
  swept.run();
  CHECK(std::ranges::is_sorted(told));
  CHECK(told.front() == 0);
  CHECK(told.back() > 0.5);
  CHECK(told.back() < 1);
  CHECK(std::ranges::count_if(told, [](double rounds) { return rounds > 0 && rounds < 1; }) >= 3);
}

TEST_CASE_METHOD(OneStage, "what wants more pairs when a signal comes is interrupted", "[app]") {
  SweepLength length{.rounds = 2};
  length.lockstep = LockstepPlan{.rounds = 1};
  length.most_rounds = 9;
  length.needs_more = [&](std::span<const RunRecord* const> sides) {
    stage.interrupted = sides[0]->samples.repetitions.size() == 4;
    return true;
  };
  const Swept swept = sweep(stage, rows_called({"x"}), sides_called({"A", "B"}), length);
  CHECK(swept.code == ExitCode::interrupted);
  for (const ResultFile& result : swept.results) {
    CHECK(run_called(result, "x").status == Status::interrupted);
    CHECK(run_called(result, "x").reason == "stopped by a signal after 4 of 9 rounds");
  }
}

}  // namespace ptbench
