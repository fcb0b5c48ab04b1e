#include "src/app/result_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "reports/json.h"
#include "reports/output_file.h"
#include "reports/read_result.h"
#include "src/base/error.h"
#include "src/measure/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

struct Line {
  Size number = 0;  ///< from 1
  std::string text;
};

Error history_error(const fs::path& file, const std::string& what) {
  return usage_error(fmt::format("history '{}' {}", single_line(file.string()), what),
                     "name a file that --append has made, in a folder that you may write to");
}

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

/// The last `count` lines that hold anything.
std::deque<Line> last_lines(const fs::path& file, Size count) {
  std::error_code error;
  if (!fs::exists(file, error)) return {};
  std::ifstream stream(file, std::ios::binary);
  if (!stream || fs::is_directory(file, error)) throw history_error(file, "cannot be read");
  std::deque<Line> lines;
  Size number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    lines.push_back({.number = number, .text = std::move(text)});
    if (std::ssize(lines) > count) lines.pop_front();
  }
  if (stream.bad()) throw history_error(file, "cannot be read");
  return lines;
}

ResultFile entry_of(const fs::path& file, const Line& line) {
  try {
    return read_result(line.text, fmt::format("{}:{}", file.string(), line.number));
  } catch (const Error& error) {
    throw usage_error(
        error.what(),
        fmt::format("take line {} out of the history, or name another history", line.number));
  }
}

/// With the newline. Only ASCII, so that no control character is left for a terminal.
std::string line_of(ResultFile result) {
  for (RunRecord& run : result.runs) run.samples.step_seconds.clear();
  return nlohmann::ordered_json::parse(to_json(result)).dump(-1, ' ', true) + '\n';
}

/// Whether a line that was cut off, or an editor, left the last one without its end.
bool lacks_newline(int file, off_t size) {
  char last = '\n';
  return size > 0 && pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

/// 0, or the error number. What was written in part is taken back where nobody else can have
/// written meanwhile; some network file systems have no locks.
int add_line(int file, std::string line) {
  const bool locked = flock(file, LOCK_EX) == 0;
  struct stat status{};
  if (fstat(file, &status) != 0) return errno;
  if (lacks_newline(file, status.st_size)) line.insert(0, 1, '\n');
  const ssize_t written = write(file, line.data(), line.size());
  if (written == std::ssize(line)) return fsync(file) == 0 ? 0 : errno;
  const int error_number = written < 0 ? errno : ENOSPC;
  if (locked && ftruncate(file, status.st_size) != 0) return errno;
  return error_number;
}

}  // namespace

std::vector<ResultFile> ResultHistory::last(Size count) const {
  std::vector<ResultFile> results;
  for (const Line& line : last_lines(file_, count)) results.push_back(entry_of(file_, line));
  return results;
}

void ResultHistory::append(const ResultFile& result) const {
  constexpr mode_t kMode = 0666;
  const FileDescriptor file(
      open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kMode));
  const int error_number = file.is_open() ? add_line(file.number(), line_of(result)) : errno;
  if (error_number != 0)
    throw history_error(file_, "cannot be written: " + reason_of(error_number));
}

}  // namespace ptbench
