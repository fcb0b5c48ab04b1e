// A gate against a history, of which the truth is known: what it finds, and what it imagines.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "src/judge/history_comparison.h"
#include "tests/judge/simulated_runs.h"

namespace ptbench {
namespace {

using testing::NormalNumbers;

/// A machine of which entries differ, with one run that is measured five times an entry.
struct EntryMachine {
  double between = 0.012;
  double within = 0.01;
  double mean = 0.005;  ///< how means scatter beside medians

  /// An entry of a program that is slower by `change`, of logarithms, on a day as it comes.
  ResultFile measure(double change, NormalNumbers& normal) const {
    return measure_on(between * normal(), change, normal);
  }

  /// The same on a day that is slower by `day`.
  ResultFile measure_on(double day, double change, NormalNumbers& normal) const {
    ResultFile file;
    RunRecord& run = file.runs.emplace_back();
    run.id = "run";
    for (int repetition = 0; repetition < 5; ++repetition) {
      const double typical = day + change + within * normal();
      run.samples.repetitions.push_back(testing::kept_repetition(
          0.006 * std::exp(typical), 0.006 * std::exp(typical + 0.02 + mean * normal())));
    }
    return file;
  }
};

/// `compare --history --append`, day after day.
class Gate {
 public:
  RunComparison check(const ResultFile& fresh) {
    const HistoryWindow window = history_window(entries_, {&fresh, 1}, {}, {}, {});
    RunComparison run = compare_with_history(window, {&fresh, 1}, {}, {}).runs.at(0);
    if (!is_regression(run.verdict)) entries_.push_back(fresh);
    return run;
  }

  void add(const ResultFile& entry) { entries_.push_back(entry); }

  void accept(ResultFile entry) {
    entry.accepted = {"run"};
    entries_.push_back(std::move(entry));
  }

 private:
  std::vector<ResultFile> entries_;
};

/// After `entries` of no change.
Gate begun(const EntryMachine& machine, int entries, NormalNumbers& normal) {
  Gate gate;
  for (int entry = 0; entry < entries; ++entry) gate.add(machine.measure(0, normal));
  return gate;
}

bool is_change(const RunComparison& run) {
  return run.verdict == Verdict::slower || run.verdict == Verdict::faster;
}

}  // namespace

TEST_CASE("a history without a change gives at most 1 % false verdicts", "[measure]") {
  NormalNumbers normal(1);
  constexpr int kHistories = 250;
  constexpr int kChecks = 40;
  int alarms = 0;
  int same = 0;
  for (int history = 0; history < kHistories; ++history) {
    Gate gate = begun({}, 1, normal);
    for (int check = 0; check < kChecks; ++check) {
      const RunComparison run = gate.check(EntryMachine().measure(0, normal));
      alarms += is_change(run) ? 1 : 0;
      same += run.verdict == Verdict::same ? 1 : 0;
    }
  }
  CAPTURE(alarms, same);
  CHECK(alarms <= 0.01 * kHistories * kChecks);
  CHECK(same >= 0.45 * kHistories * kChecks);
}

TEST_CASE("entries that agree say that nothing changed", "[measure]") {
  NormalNumbers normal(2);
  const EntryMachine quiet{.between = 0.004, .within = 0.006};
  Gate gate = begun(quiet, 5, normal);
  int same = 0;
  for (int check = 0; check < 200; ++check)
    same += gate.check(quiet.measure(0, normal)).verdict == Verdict::same ? 1 : 0;
  CHECK(same >= 195);
}

TEST_CASE("a step of 5 % is found", "[measure]") {
  NormalNumbers normal(3);
  constexpr int kHistories = 200;
  int at_once = 0;
  int in_three = 0;
  for (int history = 0; history < kHistories; ++history) {
    Gate gate = begun({}, 20, normal);
    bool found = false;
    for (int check = 0; check < 3; ++check) {
      found = found || gate.check(EntryMachine().measure(0.05, normal)).verdict == Verdict::slower;
      at_once += check == 0 && found ? 1 : 0;
    }
    in_three += found ? 1 : 0;
  }
  CAPTURE(at_once, in_three);
  CHECK(at_once >= 0.75 * kHistories);
  CHECK(in_three >= 0.95 * kHistories);
}

TEST_CASE("a creep of 0.3 % an entry is found by 6 %, by the anchor", "[measure]") {
  NormalNumbers normal(4);
  constexpr int kHistories = 200;
  int found_by_6 = 0;
  int by_anchor = 0;
  for (int history = 0; history < kHistories; ++history) {
    Gate gate = begun({}, 10, normal);
    for (double crept = 0.003; crept <= 0.0601; crept += 0.003) {
      const RunComparison run = gate.check(EntryMachine().measure(crept, normal));
      if (run.verdict != Verdict::slower) continue;
      ++found_by_6;
      by_anchor += run.decided_by == Reference::anchor ? 1 : 0;
      break;
    }
  }
  CAPTURE(found_by_6, by_anchor);
  CHECK(found_by_6 >= 0.95 * kHistories);
  CHECK(by_anchor >= 0.5 * found_by_6);
}

TEST_CASE("a lucky entry makes what follows no slower", "[measure]") {
  NormalNumbers normal(5);
  constexpr int kHistories = 100;
  int alarms = 0;
  int checks = 0;
  for (int history = 0; history < kHistories; ++history) {
    Gate gate = begun({}, 8, normal);
    gate.add(EntryMachine().measure_on(-0.06, 0, normal));
    for (int check = 0; check < 10; ++check, ++checks)
      alarms += gate.check(EntryMachine().measure(0, normal)).verdict == Verdict::slower ? 1 : 0;
  }
  CAPTURE(alarms);
  CHECK(alarms <= 0.01 * checks);
}

TEST_CASE("what was accepted is what later results are held against", "[measure]") {
  NormalNumbers normal(6);
  constexpr int kHistories = 100;
  int alarms = 0;
  int found = 0;
  for (int history = 0; history < kHistories; ++history) {
    Gate gate = begun({}, 20, normal);
    gate.accept(EntryMachine().measure(0.08, normal));
    for (int check = 0; check < 6; ++check)
      alarms += is_change(gate.check(EntryMachine().measure(0.08, normal))) ? 1 : 0;
    found += gate.check(EntryMachine().measure(0.18, normal)).verdict == Verdict::slower ? 1 : 0;
  }
  CAPTURE(alarms, found);
  CHECK(alarms <= 0.015 * kHistories * 6);
  CHECK(found >= 0.99 * kHistories);
}

TEST_CASE("an improvement is what the anchor holds later results against", "[measure]") {
  NormalNumbers normal(7);
  constexpr int kHistories = 100;
  int found = 0;
  for (int history = 0; history < kHistories; ++history) {
    Gate gate = begun({}, 12, normal);
    for (int check = 0; check < 12; ++check) (void)gate.check(EntryMachine().measure(-0.1, normal));
    bool was_found = false;
    for (double crept = 0.003; crept <= 0.0651; crept += 0.003)
      was_found = was_found || gate.check(EntryMachine().measure(-0.1 + crept, normal)).verdict ==
                                   Verdict::slower;
    found += was_found ? 1 : 0;
  }
  CAPTURE(found);
  CHECK(found >= 0.95 * kHistories);
}

TEST_CASE("the reference that decided is told", "[measure]") {
  NormalNumbers normal(8);
  const EntryMachine quiet{.between = 0.001, .within = 0.001};
  Gate gate;
  for (int entry = 0; entry < 20; ++entry) gate.add(quiet.measure(0.003 * entry, normal));
  const RunComparison crept = gate.check(quiet.measure(0.06, normal));
  CHECK(crept.verdict == Verdict::slower);
  CHECK(crept.decided_by == Reference::anchor);
  CHECK_THAT(crept.reason, Catch::StartsWith("slower than the anchor, the first 3 entries; "
                                             "against the last 10 entries +1."));
  CHECK(crept.base_repetitions == 15);
  CHECK(crept.change.value() == Approx(0.0587).margin(0.005));
  REQUIRE((crept.window && crept.anchor));
  CHECK(crept.window->entries == 10);
  CHECK(crept.anchor->entries == 3);
  CHECK(crept.window->change < 0.025);
  const RunComparison step = gate.check(quiet.measure(0.15, normal));
  CHECK(step.verdict == Verdict::slower);
  CHECK(step.decided_by == Reference::window);
  CHECK(step.reason.empty());
  // Faster than what was measured lately, and slower than at first.
  Gate accepted_by_hand;
  for (int entry = 0; entry < 20; ++entry)
    accepted_by_hand.add(quiet.measure(entry < 10 ? 0 : 0.2, normal));
  const RunComparison both = accepted_by_hand.check(quiet.measure(0.1, normal));
  CHECK(both.verdict == Verdict::ambiguous);
  CHECK_THAT(both.reason, Catch::StartsWith("faster than the last 10 entries, but slower than the "
                                            "anchor"));
}

TEST_CASE("an anchor of old entries takes no mean from the window", "[measure]") {
  NormalNumbers normal(9);
  const EntryMachine quiet{.between = 0.001, .within = 0.001};
  Gate gate;
  for (int entry = 0; entry < 13; ++entry) {
    ResultFile file = quiet.measure(0, normal);
    for (RepetitionRecord& repetition : file.runs[0].samples.repetitions)
      if (entry < 3) repetition.mean_seconds.reset();
    gate.add(file);
  }
  ResultFile fresh = quiet.measure(0, normal);
  for (RepetitionRecord& repetition : fresh.runs[0].samples.repetitions)
    *repetition.mean_seconds *= 1.136;
  const RunComparison run = gate.check(fresh);
  CHECK(run.verdict == Verdict::slower);
  CHECK_THAT(run.reason, Catch::StartsWith("the mean step is 14 % slower"));
}

}  // namespace ptbench
