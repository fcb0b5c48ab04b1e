#include "src/base/input_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

using Catch::Contains;
using Catch::Equals;

constexpr InputRule kRule{.largest = 10};

std::string read(const std::filesystem::path& path, const InputRule& rule = kRule) {
  return read_input(path, rule, [&](const InputProblem& problem) {
    return usage_error((problem.is_large ? "large " : "") + problem.predicate);
  });
}

}  // namespace

TEST_CASE("an input is a regular file of a sane length") {
  const testing::TemporaryDirectory folder;
  CHECK(read(folder.write("empty", "")).empty());
  CHECK(read(folder.write("ten", "0123456789")) == "0123456789");
  CHECK_THROWS_WITH(read(folder.write("eleven", "0123456789a")),
                    Equals("large has 11 B, more than the 10 B that are read"));
  CHECK_THROWS_WITH(read(folder.path()), Equals("cannot be read: it is a directory"));
  CHECK_THROWS_WITH(read(folder.path() / "absent"), Contains("cannot be read: No such file"));
  CHECK_THROWS_WITH(read("/dev/zero"), Equals("cannot be read: it is not a regular file"));
  std::filesystem::create_symlink("/dev/zero", folder.path() / "link");
  CHECK_THROWS_WITH(read(folder.path() / "link"),
                    Equals("cannot be read: it is not a regular file"));
}

TEST_CASE("what turns out to be longer than it said is refused while it is read") {
  // The kernel's own files say that they are empty.
  CHECK(read("/proc/self/oom_score_adj").ends_with("\n"));
  CHECK_THROWS_WITH(read("/proc/self/status"), Contains("more than the 10 B that are read"));
}

TEST_CASE("nothing waits for a pipe, unless pipes will do") {
  const testing::TemporaryDirectory folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read(pipe), Equals("cannot be read: it is not a regular file"));
  const auto written = [&](const char* text) {
    const std::jthread writer([&] { std::ofstream(pipe) << text; });
    return read(pipe, {.largest = 10, .pipes = true});
  };
  CHECK(written("012345") == "012345");
  CHECK_THROWS_WITH(written("0123456789abc"), Contains("more than the 10 B that are read"));
  CHECK_THROWS_WITH(read("/dev/zero", {.largest = 10, .pipes = true}),
                    Equals("cannot be read: it is not a regular file"));
}

}  // namespace ptbench
