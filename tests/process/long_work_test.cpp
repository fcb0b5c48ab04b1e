#include "src/process/long_work.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/measure/fake_clock.h"

namespace ptbench {
namespace {

using Lines = std::vector<std::string>;
using testing::FakeClock;

LongWork::Voice voice(Lines& lines, bool progress_is_seen) {
  return {.progress_is_seen = progress_is_seen,
          .say = [&lines](const std::string& line) { lines.push_back(line); }};
}

}  // namespace

TEST_CASE("long work says first how long it takes, and on a pipe a line every half minute") {
  FakeClock clock;
  Lines lines;
  LongWork work(clock, voice(lines, false));
  CHECK(work.text().empty());
  work.tick();  // nothing has begun
  work.begin("6 rows, about 2 minutes", 120);
  CHECK(lines == Lines{"6 rows, about 2 minutes"});
  for (int second = 0; second < 29; ++second) {
    clock.pass(1);
    work.tick();
  }
  CHECK(lines.size() == 1);
  work.reach(0.25, "row 2 of 6");
  clock.pass(1);
  work.tick();
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == "25 %, 2 min left: row 2 of 6");
  clock.pass(30);
  work.reach(0.5, "row 4 of 6");  // whoever tells how far it is waits as well
  REQUIRE(lines.size() == 3);
  CHECK(lines[2] == "50 %, 1 min left: row 4 of 6");
  clock.pass(45);
  work.reach(0.9, "row 6 of 6");
  REQUIRE(lines.size() == 4);
  CHECK(lines[3] == "90 %, 12 s left: row 6 of 6");
}

TEST_CASE("where a terminal shows progress, long work is announced and no more") {
  FakeClock clock;
  Lines lines;
  LongWork work(clock, voice(lines, true));
  work.begin("6 rows, about 2 minutes", 120);
  clock.pass(100);
  work.reach(0.5, "row 3 of 6");
  CHECK(lines == Lines{"6 rows, about 2 minutes"});
  CHECK(work.text() == "50 %, 2 min left");
}

TEST_CASE("work that is over soon is not announced") {
  FakeClock clock;
  Lines lines;
  LongWork work(clock, voice(lines, false));
  work.begin("1 row, about 4 seconds", 4);
  CHECK(lines.empty());
}

TEST_CASE("the time left goes by what was expected at first, and by the pace later on") {
  FakeClock clock;
  Lines lines;
  LongWork work(clock, voice(lines, true));
  work.begin("", 100);
  CHECK(work.seconds_left() == 100.0);
  clock.pass(20);
  CHECK(work.seconds_left() == 80.0);
  work.reach(0.05, "");  // 400 s at this pace: a fifth of that, and four fifths of 100 s
  CHECK(work.seconds_left() == Approx(0.95 * (0.2 * 400 + 0.8 * 100)));
  clock.pass(80);
  work.reach(0.5, "");
  CHECK(work.seconds_left() == Approx(100));
  CHECK(work.share() == 0.5);
}

TEST_CASE("work that lasts longer than was expected and shows no pace tells no time") {
  FakeClock clock;
  Lines lines;
  LongWork work(clock, voice(lines, false));
  work.begin("1 row, about 10 seconds", 10);
  clock.pass(31);
  work.tick();
  CHECK(lines.back() == "0 %");
}

}  // namespace ptbench
