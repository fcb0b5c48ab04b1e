#include "src/process/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "tests/measure/fake_clock.h"
#include "tests/support/captured_stream.h"

namespace ptbench {
namespace {

/// Progress on a terminal.
struct Shown {
  testing::FakeClock clock;
  testing::CapturedStream capture;
  Progress progress{clock, capture.stream(), true};

  /// What it shows after the last line was written.
  [[nodiscard]] std::string line() const {
    const std::string text = capture.text();
    const std::size_t start = text.rfind('\r');
    return start == std::string::npos ? text : text.substr(start + 1);
  }
};

}  // namespace

TEST_CASE_METHOD(Shown, "progress says how far it is and how long it will take") {
  progress.begin("measuring");
  progress.update(0, 200);
  CHECK(line() == "measuring   0 %  step 0 of 200\x1b[K");
  clock.pass(10);
  progress.update(50, 200);
  CHECK(line() == "measuring  25 %  step 50 of 200  31 s left\x1b[K");
  clock.pass(0.2);
  progress.update(0.5);
  CHECK(line() == "measuring  50 %  11 s left\x1b[K");
  clock.pass(1000);
  progress.update(0.5);
  CHECK(line() == "measuring  50 %  16 min 51 s left\x1b[K");
  progress.clear();
  CHECK(capture.text().ends_with("\r\x1b[K"));
}

TEST_CASE_METHOD(Shown, "progress says what a phase has found so far, where it is shown") {
  progress.begin("measuring");
  CHECK(progress.due());
  progress.update(0.25, "21.3 k samples/s");
  CHECK(line() == "measuring  25 %  21.3 k samples/s\x1b[K");
  CHECK_FALSE(progress.due());
  clock.pass(1);
  CHECK(progress.due());
  progress.update(0.5, "21.4 k samples/s");
  CHECK(line() == "measuring  50 %  21.4 k samples/s  3 s left\x1b[K");
  clock.pass(1);
  CHECK_FALSE(Progress(clock, capture.stream(), false).due());
}

TEST_CASE_METHOD(Shown, "a phase that begins in the middle tells the time by its own pace") {
  progress.begin("measuring");
  clock.pass(3);
  progress.update(0.5);
  CHECK(line() == "measuring  50 %\x1b[K");
  clock.pass(10);
  progress.update(0.75);
  CHECK(line() == "measuring  75 %  11 s left\x1b[K");
}

TEST_CASE_METHOD(Shown, "progress shows at most ten updates a second") {
  progress.begin("measuring");
  for (int step = 0; step < 3000; ++step) {
    progress.update(step, 3000);
    clock.pass(0.001);
  }
  const std::string text = capture.text();
  const auto shown = std::ranges::count(text, '\r');
  CHECK(shown >= 28);
  CHECK(shown <= 31);
}

TEST_CASE_METHOD(Shown, "a new phase shows at once, after the one before") {
  progress.begin("planning");
  progress.update(0.0);
  progress.begin("warming up");
  progress.update(0.0);
  CHECK(line() == "warming up   0 %\x1b[K");
}

TEST_CASE("progress shows nothing where there is no terminal, and clears only what it showed") {
  testing::FakeClock clock;
  const testing::CapturedStream capture;
  {
    Progress progress(clock, capture.stream());
    progress.begin("measuring");
    progress.update(1, 2);
  }
  {
    Progress progress(clock, capture.stream(), true);
    progress.begin("measuring");
  }
  CHECK(capture.text().empty());
  Progress(clock, capture.stream(), true).update(1, 2);
  CHECK(capture.text().ends_with("\r\x1b[K"));
}

TEST_CASE_METHOD(Shown,
                 "things that take long are counted, and a phase can show that it has begun") {
  progress.announce("choosing operators");
  CHECK(line() == "choosing operators\x1b[K");
  progress.count(0, 40);
  CHECK(line() == "choosing operators 0/40\x1b[K");
  clock.pass(3);
  progress.count(10, 40);
  CHECK(line() == "choosing operators 10/40  10 s left\x1b[K");
  clock.pass(0.01);
  progress.count(11, 40);  // too soon after the one before
  CHECK(line() == "choosing operators 10/40  10 s left\x1b[K");
  progress.clear();
  CHECK(capture.text().ends_with("\r\x1b[K"));
}

TEST_CASE_METHOD(Shown, "a detail that is kept stands where a line has none of its own") {
  progress.begin("choosing operators");
  progress.keep("21 k samples/s, unverified");
  progress.count(1, 2);
  CHECK(line() == "choosing operators 1/2  21 k samples/s, unverified\x1b[K");
  progress.announce("verifying");
  CHECK(line() == "verifying  21 k samples/s, unverified\x1b[K");
  progress.begin("measuring");
  progress.update(0.5, "22 k samples/s");
  CHECK(line() == "measuring  50 %  22 k samples/s\x1b[K");
  progress.keep({});
  progress.announce("timing phases");
  CHECK(line() == "timing phases\x1b[K");
}

TEST_CASE("where nothing is shown nothing is counted or announced") {
  testing::FakeClock clock;
  const testing::CapturedStream capture;
  Progress progress(clock, capture.stream(), false);
  progress.announce("verifying");
  progress.count(1, 2);
  progress.clear();
  CHECK(capture.text().empty());
}

TEST_CASE_METHOD(Shown, "progress that another process shows says whose it is") {
  Progress other(clock, capture.stream(), true, "repetition 3 of 5, 21.3 k samples/s ± 0.8 %");
  CHECK(other.visible());
  other.begin("measuring");
  other.update(0.5);
  CHECK(line() == "repetition 3 of 5, 21.3 k samples/s ± 0.8 %: measuring  50 %\x1b[K");
}

TEST_CASE("what another process wrote is passed on, and cleared where lines can be") {
  testing::FakeClock clock;
  const testing::CapturedStream shown;
  const testing::CapturedStream hidden;
  Progress visible(clock, shown.stream(), true);
  Progress invisible(clock, hidden.stream(), false);
  CHECK_FALSE(invisible.visible());
  for (Progress* progress : {&visible, &invisible}) {
    progress->pass_on("\rmeasuring");
    progress->clear();
    progress->clear();
  }
  CHECK(shown.text() == "\rmeasuring\r\x1b[K");
  CHECK(hidden.text() == "\rmeasuring");
}

namespace {

/// A terminal may deliver what was written in pieces.
std::string read_from(int terminal, std::size_t size) {
  std::string text;
  std::array<char, 256> piece{};
  while (text.size() < size) {
    const auto count = read(terminal, piece.data(), piece.size());
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

TEST_CASE("a line never wraps on a narrow terminal") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(unlockpt(terminal) == 0);
  const int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  REQUIRE(side >= 0);
  winsize size{};
  size.ws_col = 20;
  REQUIRE(ioctl(side, TIOCSWINSZ, &size) == 0);

  std::FILE* stream = fdopen(side, "w");
  testing::FakeClock clock;
  {
    Progress progress(clock, stream, true);
    progress.begin("a phase with a long name that goes on and on");
    progress.update(1, 2);
    const std::string expected = "\ra phase with a long\x1b[K";
    CHECK(read_from(terminal, expected.size()) == expected);
  }
  {
    Progress progress(clock, stream, true, "16 letters, say ±±±");
    progress.begin("measuring");
    progress.update(1, 2);
    const std::string expected = "\r\x1b[K\r16 letters, say ±\x1b[K";
    CHECK(read_from(terminal, expected.size()) == expected);  // bytes are counted, and kept whole
  }
  std::fclose(stream);
  close(terminal);
}

}  // namespace ptbench
