#include <catch2/catch.hpp>

#include "app/training/timed_steps.h"

namespace ptbench {

TEST_CASE("the pace of slow steps is the median of those so far") {
  StepPace pace;
  CHECK_FALSE(pace.step_seconds().has_value());
  pace.add(1, 3);
  CHECK(pace.step_seconds() == 3);
  pace.add(2, 1);
  pace.add(3, 2);
  CHECK(pace.step_seconds() == 2);
  pace.add(4, 100);
  pace.add(5, 100);
  CHECK(pace.step_seconds() == 3);
  pace.clear();
  CHECK_FALSE(pace.step_seconds().has_value());
  pace.add(1, 5);
  CHECK(pace.step_seconds() == 5);
}

TEST_CASE("fast steps are told together, since one alone says little") {
  StepPace pace;
  for (Size step = 1; step <= 100; ++step) pace.add(step, step % 10 == 0 ? 0.01 : 0.0001);
  CHECK(pace.step_seconds().value() == Approx(0.00109));
  pace.clear();
  pace.add(40, 0.0001);
  CHECK_FALSE(pace.step_seconds().has_value());
  pace.add(140, 0.0001);
  CHECK(pace.step_seconds().value() == Approx(0.0001));
}

TEST_CASE("the pace of many steps speaks for the first as for the last") {
  StepPace pace;
  for (const int count : {255, 256, 257, 1000, 100'000}) {
    pace.clear();
    for (int step = 1; step <= count; ++step) pace.add(step, step);
    CHECK(pace.step_seconds().value() == Approx(count / 2.0).epsilon(0.02));
  }
  for (int step = 1; step <= 200'000; ++step) pace.add(100'000 + step, 100'000);
  CHECK(pace.step_seconds() == 100'000);
}

}  // namespace ptbench
