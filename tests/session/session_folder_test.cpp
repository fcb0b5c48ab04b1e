#include "app/session/session_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// TMPDIR, while it lives.
class TemporaryPlace {
 public:
  TemporaryPlace() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;
  ~TemporaryPlace() {
    if (before_)
      setenv("TMPDIR", before_->c_str(), 1);
    else
      unsetenv("TMPDIR");
  }
  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  testing::TemporaryDirectory folder_;
  std::optional<std::string> before_;
};

/// By a process that is killed while it has one.
void leave_a_folder() {
  const pid_t child = fork();
  if (child == 0) {
    const SessionFolder folder;
    std::ofstream(folder.file("result.json")) << "{}";
    (void)raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

std::size_t count_entries(const fs::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a session's folder is removed with what is in it", "[app]") {
  const TemporaryPlace place;
  {
    const SessionFolder folder;
    CHECK(folder.path().parent_path() == place.path());
    std::ofstream(folder.file("result.json")) << "{}";
  }
  CHECK(fs::is_empty(place.path()));
}

TEST_CASE("folders of sessions that were killed are removed by the next", "[app]") {
  const TemporaryPlace place;
  leave_a_folder();
  REQUIRE(count_entries(place.path()) == 1);
  const SessionFolder folder;
  CHECK(count_entries(place.path()) == 1);
  CHECK(fs::exists(folder.path()));
}

TEST_CASE("folders of sessions that live, and what is no session's, stay", "[app]") {
  const TemporaryPlace place;
  fs::create_directories(place.path() / "ptbench-abcdef");
  fs::create_directories(place.path() / "other");
  std::ofstream(place.path() / "other" / "owner.lock") << "";
  const SessionFolder living;
  const SessionFolder folder;
  CHECK(fs::exists(living.path()));
  CHECK(count_entries(place.path()) == 4);
}

}  // namespace ptbench
