#include "reports/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>

#include "src/base/error.h"
#include "tests/reports/file_contents.h"
#include "tests/support/temporary_directory.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using testing::read_file;
using testing::TemporaryDirectory;
using testing::write_file;

Error failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw Defect("not reached");
}

/// Runs `action` in a child and returns its exit status: 0 where it returned true. For what cannot
/// be undone: limits, rights.
int exit_status_of(const std::function<bool()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = action();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Whether files of that folder can do without a name.
bool has_nameless_files(const fs::path& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (file >= 0) (void)close(file);
  return file >= 0;
}

/// From now on in this process files without a name are refused, as by file systems that have none.
bool refuse_nameless_files() {
  constexpr std::uint32_t kNameless = O_TMPFILE & ~O_DIRECTORY;
  constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
  std::array<sock_filter, 6> program{
      {{kLoad, 0, 0, offsetof(seccomp_data, nr)},
       {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_openat},
       {kLoad, 0, 0, offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)},
       {BPF_JMP | BPF_JSET | BPF_K, 0, 1, kNameless},
       {kReturn, 0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP},
       {kReturn, 0, 0, SECCOMP_RET_ALLOW}}};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

mode_t permissions_of(const fs::path& path) {
  struct stat status{};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("a file appears when it is committed, whole", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  {
    OutputFile file(target);
    file.append("one ");
    CHECK_FALSE(fs::exists(target));
    if (has_nameless_files(folder.path())) CHECK(folder.names().empty());
    file.commit("two");
    CHECK(read_file(target) == "one two");
    CHECK(folder.names() == Names{"results.json"});
  }
  CHECK(folder.names() == Names{"results.json"});
}

TEST_CASE("what was not committed leaves nothing behind", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  {
    OutputFile(target).append("half");
  }
  CHECK(folder.names().empty());
  write_file(target, "old");
  {
    OutputFile(target).append("half");
  }
  CHECK(read_file(target) == "old");
  CHECK(folder.names() == Names{"results.json"});
}

TEST_CASE("a process that is killed leaves nothing behind", "[reports]") {
  const TemporaryDirectory folder;
  if (!has_nameless_files(folder.path())) return;
  const fs::path target = folder.path() / "results.json";
  for (const bool had_old : {false, true}) {
    if (had_old) write_file(target, "old");
    CHECK(exit_status_of([&] {
            OutputFile file(target);
            file.append("half");
            return raise(SIGKILL) == 0;
          }) == 128 + SIGKILL);
    CHECK(folder.names() == (had_old ? Names{"results.json"} : Names{}));
    if (had_old) CHECK(read_file(target) == "old");
  }
}

TEST_CASE("file systems without nameless files get one with a name", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  for (const std::string text : {"new", "replaced"})
    CHECK(exit_status_of([&] {
            if (!refuse_nameless_files() || has_nameless_files(folder.path())) return false;
            OutputFile file(target);
            const std::string name = fmt::format(".results.json.ptbench-partial-{}", getpid());
            if (!fs::exists(folder.path() / name)) return false;
            file.commit(text);
            return read_file(target) == text;
          }) == 0);
  CHECK(folder.names() == Names{"results.json"});
  CHECK(read_file(target) == "replaced");
}

TEST_CASE("a file that cannot be given a name is copied", "[reports]") {
  const TemporaryDirectory folder;
  const std::string text(3'000'000, 'x');
  CHECK(exit_status_of([&] {
          fs::current_path(folder.path());
          write_file("old.json", "old");
          if (chmod("old.json", 0640) != 0) return false;
          OutputFile fresh("results.json");
          OutputFile old("old.json");
          // There is no /proc then. Who may not do so tests nothing.
          if (chroot(".") != 0) return geteuid() != 0;
          fresh.commit(text);
          old.commit(text);
          return read_file("results.json") == text && read_file("old.json") == text &&
                 permissions_of("old.json") == 0640;
        }) == 0);
  const Names names = folder.names();
  CHECK(std::ranges::count_if(names, [](const std::string& name) {
          return name.find("partial") != std::string::npos;
        }) == 0);
}

TEST_CASE("a file can be committed again and again", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  OutputFile file(target);
  for (const char* text : {"first, longer", "second"}) {
    file.commit(text);
    CHECK(read_file(target) == text);
    CHECK(folder.names() == Names{"results.json"});
  }
  file.commit();
  CHECK(read_file(target).empty());
}

TEST_CASE("a target without a folder is one of the current folder", "[reports]") {
  const TemporaryDirectory folder;
  CHECK(exit_status_of([&] {
          fs::current_path(folder.path());
          OutputFile file("results.json");
          file.commit("here");
          return read_file("results.json") == "here";
        }) == 0);
  CHECK(folder.names() == Names{"results.json"});
}

TEST_CASE("unusable targets are refused before anything is written", "[reports]") {
  const TemporaryDirectory folder;
  const auto refusal_of = [](const fs::path& path) {
    return failure_of([&] { const OutputFile file(path); });
  };
  SECTION("a folder that does not exist") {
    const fs::path target = folder.path() / "absent" / "results.json";
    const Error error = refusal_of(target);
    CHECK(error.code() == ExitCode::usage);
    CHECK(std::string(error.what()) ==
          fmt::format("cannot write '{}': No such file or directory", target.string()));
    CHECK_FALSE(error.remedy().empty());
  }
  SECTION("a folder that is a file") {
    write_file(folder.path() / "file", "");
    CHECK(std::string(refusal_of(folder.path() / "file" / "results.json").what())
              .ends_with("Not a directory"));
  }
  SECTION("a target that is a folder") {
    fs::create_directory(folder.path() / "results.json");
    CHECK(
        std::string(refusal_of(folder.path() / "results.json").what()).ends_with("Is a directory"));
    CHECK(std::string(refusal_of(folder.path() / "results.json/").what())
              .ends_with("Is a directory"));
    CHECK(folder.names() == Names{"results.json"});
  }
  SECTION("a pipe, which nobody may ever read") {
    const fs::path pipe = folder.path() / "pipe.json";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    fs::create_symlink("pipe.json", folder.path() / "link.json");
    for (const char* name : {"pipe.json", "link.json"}) {
      const Error error = refusal_of(folder.path() / name);
      CHECK(error.code() == ExitCode::usage);
      CHECK_THAT(error.what(), Catch::Contains(name) && Catch::Contains("it is a pipe"));
      CHECK_FALSE(error.remedy().empty());
    }
    CHECK(fs::is_fifo(pipe));
  }
  SECTION("links in a circle") {
    fs::create_symlink("b.json", folder.path() / "a.json");
    fs::create_symlink("a.json", folder.path() / "b.json");
    CHECK(std::string(refusal_of(folder.path() / "a.json").what())
              .ends_with("Too many levels of symbolic links"));
  }
  SECTION("no name at all") { CHECK(refusal_of("").code() == ExitCode::usage); }
  SECTION("control characters are not printed") {
    CHECK(std::string(refusal_of("/absent/\x1b[2J.json").what()) ==
          "cannot write '/absent/\\x1b[2J.json': No such file or directory");
  }
}

TEST_CASE("folders and files without permission are refused", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path closed = folder.path() / "closed";
  fs::create_directory(closed);
  const fs::path read_only = folder.path() / "read-only.json";
  write_file(read_only, "old");
  REQUIRE(chmod(folder.path().c_str(), 0777) == 0);
  REQUIRE(chmod(closed.c_str(), 0555) == 0);
  REQUIRE(chmod(read_only.c_str(), 0444) == 0);
  const auto is_refused = [](const fs::path& path) {
    try {
      const OutputFile file(path);
    } catch (const Error& error) {
      return error.code() == ExitCode::usage &&
             std::string(error.what()).ends_with("Permission denied");
    }
    return false;
  };
  constexpr uid_t kNobody = 65534;  // root may write everywhere
  CHECK(exit_status_of([&] {
          if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) return false;
          return is_refused(closed / "results.json") && is_refused(read_only);
        }) == 0);
  CHECK(read_file(read_only) == "old");
}

TEST_CASE("a full disk leaves the old file and no other", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  const std::string text(100'000, 'x');
  for (const bool had_old : {false, true}) {
    if (had_old) write_file(target, "old");
    CHECK(exit_status_of([&] {
            const rlimit limit{4096, 4096};
            if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
            (void)signal(SIGXFSZ, SIG_IGN);
            OutputFile file(target);
            try {
              file.commit(text);
            } catch (const Error& error) {
              return error.code() == ExitCode::usage &&
                     std::string(error.what()) ==
                         fmt::format("cannot write '{}': File too large", target.string()) &&
                     error.remedy().find("ulimit -f") != std::string::npos;
            }
            return false;
          }) == 0);
    CHECK(folder.names() == (had_old ? Names{"results.json"} : Names{}));
    if (had_old) CHECK(read_file(target) == "old");
  }
}

TEST_CASE("devices are written directly, and a full one is told", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path full = folder.path() / "full.json";
  fs::create_symlink("/dev/full", full);
  OutputFile file(full);
  const Error error = failure_of([&] { file.commit("text"); });
  CHECK(error.code() == ExitCode::usage);
  CHECK(std::string(error.what()) ==
        fmt::format("cannot write '{}': No space left on device", full.string()));
  CHECK(folder.names() == Names{"full.json"});
  CHECK(fs::is_character_file("/dev/full"));

  fs::create_symlink("/dev/null", folder.path() / "null.json");
  OutputFile(folder.path() / "null.json").commit("text");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a link to a file stays a link", "[reports]") {
  const TemporaryDirectory folder;
  fs::create_directory(folder.path() / "there");
  const fs::path link = folder.path() / "link.json";
  fs::create_symlink("there/results.json", link);
  for (const char* text : {"new", "replaced"}) {  // at first it leads to nothing
    OutputFile(link).commit(text);
    CHECK(fs::is_symlink(link));
    CHECK(read_file(folder.path() / "there" / "results.json") == text);
  }
  CHECK(folder.names() == Names{"link.json", "there"});
}

TEST_CASE("an existing file keeps its permissions", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  write_file(target, "old");
  for (const mode_t mode : {0600U, 0640U, 0666U}) {
    REQUIRE(chmod(target.c_str(), mode) == 0);
    OutputFile(target).commit("new");
    CHECK(permissions_of(target) == mode);
  }
  const mode_t mask = umask(0027);
  OutputFile(folder.path() / "fresh.json").commit("new");
  umask(mask);
  CHECK(permissions_of(folder.path() / "fresh.json") == 0640);
}

TEST_CASE("a temporary file that was left behind is no obstacle", "[reports]") {
  const TemporaryDirectory folder;
  const fs::path target = folder.path() / "results.json";
  const std::string left = fmt::format(".results.json.ptbench-partial-{}", getpid());
  write_file(folder.path() / left, "left by another process of this number");
  for (const char* text : {"new", "replaced"}) {
    OutputFile(target).commit(text);
    CHECK(read_file(target) == text);
    CHECK(folder.names() == Names{left, "results.json"});
  }
}

TEST_CASE("the longest name that a folder takes is not too long", "[reports]") {
  const TemporaryDirectory folder;
  const std::string name = std::string(250, 'n') + ".json";
  OutputFile(folder.path() / name).commit("text");
  CHECK(folder.names() == Names{name});
}

TEST_CASE("standard output that cannot be written is told", "[reports]") {
  CHECK(exit_status_of([] {
          const int full = open("/dev/full", O_WRONLY);
          if (dup2(full, STDOUT_FILENO) < 0) return false;
          try {
            write_standard_output("text");
          } catch (const Error& error) {
            return error.code() == ExitCode::usage;
          }
          return false;
        }) == 0);
}

}  // namespace ptbench
