#include "src/base/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace ptbench {
namespace {

/// A terminal that is `columns` wide; 0: it does not know.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(master_ >= 0);
    REQUIRE(unlockpt(master_) == 0);
    winsize size{};
    size.ws_col = columns;
    REQUIRE(ioctl(master_, TIOCSWINSZ, &size) == 0);
    file_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    REQUIRE(file_ >= 0);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close(file_);
    close(master_);
  }

  [[nodiscard]] int file() const { return file_; }

 private:
  int master_;
  int file_ = -1;
};

/// COLUMNS, while it lives.
class ColumnsVariable {
 public:
  explicit ColumnsVariable(const char* value) { setenv("COLUMNS", value, 1); }
  ColumnsVariable(const ColumnsVariable&) = delete;
  ColumnsVariable& operator=(const ColumnsVariable&) = delete;
  ~ColumnsVariable() { unsetenv("COLUMNS"); }
};

}  // namespace

TEST_CASE("text is as wide as its terminal") {
  const Terminal terminal(132);
  const ColumnsVariable ignored("50");
  CHECK(terminal_columns(terminal.file()) == 132);
  CHECK(text_columns(terminal.file(), 40, 100) == 132);
  const Terminal narrow(20);
  CHECK(text_columns(narrow.file(), 40, 100) == 40);
}

TEST_CASE("COLUMNS tells what a terminal does not know") {
  const Terminal terminal(0);
  CHECK(terminal_columns(terminal.file()) == 0);
  {
    const ColumnsVariable columns("55");
    CHECK(text_columns(terminal.file(), 40, 100) == 55);
  }
  for (const char* nonsense : {"", "0", "wide", "-3", "99999999999999999999"}) {
    const ColumnsVariable columns(nonsense);
    CHECK(text_columns(terminal.file(), 40, 100) == 80);
  }
}

TEST_CASE("what is no terminal has a fixed width") {
  const ColumnsVariable ignored("55");
  const int file = open("/dev/null", O_WRONLY);
  REQUIRE(file >= 0);
  CHECK(terminal_columns(file) == 0);
  CHECK(text_columns(file, 40, 100) == 100);
  close(file);
}

}  // namespace ptbench
