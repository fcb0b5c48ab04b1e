#include "app/publish/gnuplot_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/base/write_all.h"
#include "src/process/child_process.h"
#include "src/process/descriptor.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

constexpr int kSeconds = 60;
constexpr ChildProcess::Duration kDeadline = std::chrono::seconds(kSeconds);
constexpr std::size_t kMostTold = 2000;  // bytes of what gnuplot says
constexpr std::size_t kMostShown = 200;

/// A file in memory that another process of this user reads and writes by its name. Nothing of it
/// stays, however this process ends.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : file_(memfd_create(name, MFD_CLOEXEC)) {
    if (!file_.is_open())
      throw usage_error(
          fmt::format("no memory for a drawing: {}", std::generic_category().message(errno)),
          "check free memory and the limit of open files (ulimit -n)");
  }

  [[nodiscard]] std::string name() const {
    return fmt::format("/proc/{}/fd/{}", getpid(), file_.number());
  }

  void write(std::string_view text) const {
    if (write_all(file_.number(), text) != 0)
      throw usage_error("no memory for a drawing", "free some memory");
  }

  [[nodiscard]] std::string read() const {
    struct stat status{};
    if (fstat(file_.number(), &status) != 0) return {};
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t size =
          pread(file_.number(), text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      done += static_cast<std::size_t>(size);
    }
    text.resize(done);
    return text;
  }

 private:
  Descriptor file_;
};

std::optional<fs::path> find_gnuplot() {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    fs::path program = fs::path(folders.substr(0, end)) / "gnuplot";
    std::error_code error;
    if (end > 0 && fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0)
      return program;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

fs::path gnuplot_program() {
  if (std::optional<fs::path> program = find_gnuplot()) return *program;
  throw capability_error("charts are drawn by gnuplot, which is not on PATH",
                         "install it, on Debian: apt-get install gnuplot-nox");
}

/// The line of what gnuplot said that tells what is wrong: it shows the command and a caret first.
std::string complaint_of(const std::string& told) {
  std::string line = told;
  if (const std::size_t found = told.find("line "); found != std::string::npos)
    line = told.substr(found);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  return single_line(line.substr(0, kMostShown));
}

void require_success(const ChildExit& end, const std::string& told) {
  if (end.code == 0 && !end.overdue) return;
  if (end.overdue)
    throw run_error(fmt::format("gnuplot did not end within {} s", kSeconds),
                    "draw fewer charts at a time, with --chart");
  if (told.find("terminal type") != std::string::npos)
    throw capability_error(fmt::format("this gnuplot lacks a format: {}", complaint_of(told)),
                           "install one that has it, on Debian: apt-get install gnuplot-nox");
  throw run_error(
      fmt::format("gnuplot failed: {}",
                  told.empty() ? fmt::format("exit code {}, signal {}", end.code, end.signal)
                               : complaint_of(told)),
      "try gnuplot 5.4 or newer: apt-get install gnuplot-nox");
}

void run_gnuplot(const fs::path& program, const std::string& script_name) {
  std::string told;
  ChildProcess process({.program = program,
                        .arguments = {"-d", script_name},  // -d: no start-up file of the user's
                        .on_errors = [&](std::string_view text) {
                          if (told.size() < kMostTold) told += text;
                        }});
  process.end_within(kDeadline);
  std::optional<ChildExit> end;
  while (!end) end = process.wait(kDeadline);
  require_success(*end, told);
}

}  // namespace

bool gnuplot_is_there() { return find_gnuplot().has_value(); }

void require_gnuplot() { (void)gnuplot_program(); }

std::vector<std::string> draw(std::span<const Chart> charts, const Drawing& drawing) {
  if (charts.empty()) return {};
  const fs::path program = gnuplot_program();
  std::vector<MemoryFile> files;
  std::vector<std::string> names;
  const std::size_t count = drawing.format == DrawingFormat::pdf ? 1 : charts.size();
  for (std::size_t at = 0; at < count; ++at)
    names.push_back(files.emplace_back("ptbench-drawing").name());
  const MemoryFile script("ptbench-script");
  script.write(gnuplot_script(charts, names, drawing));
  run_gnuplot(program, script.name());
  std::vector<std::string> drawn;
  for (const MemoryFile& file : files) drawn.push_back(file.read());
  if (drawing.format == DrawingFormat::svg && drawing.with_heading)
    for (std::size_t at = 0; at < count; ++at) drawn[at] = titled_svg(drawn[at], charts[at]);
  return drawn;
}

}  // namespace ptbench
