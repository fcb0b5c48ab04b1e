#include "app/results/result_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "app/results/compared_files.h"
#include "reports/json.h"
#include "reports/read_result.h"
#include "src/base/error.h"
#include "src/base/function_ref.h"
#include "src/base/input_file.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/device/memory_cap.h"
#include "src/measure/repetition_times.h"
#include "src/process/output_file.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;

/// Lines are read one at a time, and their length is limited.
constexpr InputRule kHistoryRule{.largest = std::numeric_limits<Bytes>::max()};

/// Where a line of the file lies.
struct Line {
  Size number = 0;  ///< from 1
  std::uintmax_t begin = 0;
  std::uintmax_t length = 0;
  bool is_blank = true;

  void take(char letter) {
    ++length;
    if (letter != ' ' && letter != '\t' && letter != '\r') is_blank = false;
  }
};

Error history_error(const fs::path& file, const std::string& what) {
  return usage_error(fmt::format("history '{}' {}", single_line(file.string()), what),
                     "name a file that --append has made, in a folder that you may write to");
}

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

/// Tells where the lines of a text lie that hold anything. A line may be longer than there is
/// memory.
class LineScan {
 public:
  /// `tell` outlives the scan.
  explicit LineScan(FunctionRef<void(const Line&)> tell) : tell_(tell) {}

  void take(std::span<const char> block) {
    for (const char letter : block) {
      if (letter == '\n')
        end_line();
      else
        line_.take(letter);
    }
  }

  void end_line() {
    if (!line_.is_blank) tell_(line_);
    line_ = {.number = line_.number + 1, .begin = line_.begin + line_.length + 1};
  }

 private:
  FunctionRef<void(const Line&)> tell_;
  Line line_{.number = 1};
};

void for_each_line(const fs::path& file, std::ifstream& stream,
                   FunctionRef<void(const Line&)> tell) {
  constexpr std::size_t kBlock = 1 << 16;
  LineScan lines(tell);
  std::vector<char> block(kBlock);
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) ||
         stream.gcount() > 0)
    lines.take(std::span(block).first(static_cast<std::size_t>(stream.gcount())));
  if (stream.bad()) throw history_error(file, "cannot be read");
  lines.end_line();
}

/// The last `count` lines that hold anything.
std::deque<Line> last_lines(const fs::path& file, std::ifstream& stream, Size count) {
  std::deque<Line> lines;
  const auto keep = [&](const Line& line) {
    lines.push_back(line);
    if (std::ssize(lines) > count) lines.pop_front();
  };
  stream.clear();
  stream.seekg(0);
  for_each_line(file, stream, keep);
  stream.clear();
  return lines;
}

std::string text_of(const fs::path& file, std::ifstream& stream, const Line& line) {
  if (line.length > kLargestResultFile)
    throw history_error(file, fmt::format("has {} in line {}, more than the {} that are read",
                                          format_bytes(line.length), line.number,
                                          format_bytes(kLargestResultFile)));
  std::string text(line.length, '\0');
  stream.seekg(static_cast<std::streamoff>(line.begin));
  if (!stream.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw history_error(file, "cannot be read");
  return text;
}

ResultFile entry_of(const fs::path& file, std::ifstream& stream, const Line& line) {
  const std::string text = text_of(file, stream, line);
  try {
    return read_result(text, fmt::format("{}:{}", file.string(), line.number));
  } catch (const Error& error) {
    throw usage_error(
        error.what(),
        fmt::format("remove line {} from the history, or name another one", line.number));
  }
}

bool is_among(std::span<const ResultFile> records, const ResultFile& entry) {
  return std::ranges::any_of(
      records, [&](const ResultFile& record) { return are_same_record(record, entry); });
}

/// Records of which an entry may be one.
class KnownRecords {
 public:
  explicit KnownRecords(std::span<const ResultFile> records) : records_(records) {
    for (const ResultFile& record : records)
      if (!record.created.empty())
        times_.insert(nlohmann::json(record.created)
                          .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }

  /// Whether a line may be one of them: most need not be parsed.
  [[nodiscard]] bool may_have(const std::string& line) const {
    return std::ranges::any_of(
        times_, [&](const std::string& time) { return line.find(time) != std::string::npos; });
  }

  [[nodiscard]] bool have(const ResultFile& entry) const { return is_among(records_, entry); }

  [[nodiscard]] bool empty() const { return times_.empty(); }

 private:
  std::span<const ResultFile> records_;
  std::set<std::string> times_;  ///< when they were made, as lines have it
};

/// The newest of the entries in lines, oldest first, that are neither among `without` nor the same
/// as a newer one; newest first, `count` at most.
std::vector<ResultFile> distinct_entries(const fs::path& file, std::ifstream& stream,
                                         const std::deque<Line>& lines, Size count,
                                         std::span<const ResultFile> without) {
  std::vector<ResultFile> entries;
  for (const Line& line : std::views::reverse(lines)) {
    if (std::ssize(entries) == count) break;
    ResultFile entry = entry_of(file, stream, line);
    if (!is_among(without, entry) && !is_among(entries, entry)) entries.push_back(std::move(entry));
  }
  return entries;
}

/// With the newline. Only ASCII, so that no control character is left for a terminal.
std::string line_of(ResultFile result) {
  for (RunRecord& run : result.runs) {
    keep_means(run.samples);
    run.samples.step_seconds.clear();
  }
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
  if (!S_ISREG(status.st_mode)) return EINVAL;
  if (lacks_newline(file, status.st_size)) line.insert(0, 1, '\n');
  const ssize_t written = write(file, line.data(), line.size());
  if (written == std::ssize(line)) return fsync(file) == 0 ? 0 : errno;
  const int error_number = written < 0 ? errno : ENOSPC;
  if (locked && ftruncate(file, status.st_size) != 0) return errno;
  return error_number;
}

/// What `read` makes of the history, which anybody may have written.
template <class Read>
auto within_memory(const fs::path& file, const Read& read) {
  const MemoryCap cap;
  try {
    return read();
  } catch (const std::bad_alloc&) {
    throw out_of_memory(file);
  }
}

}  // namespace

std::ifstream ResultHistory::open_to_read() const {
  std::error_code error;
  if (!fs::exists(file_, error)) return {};
  return open_input(
             file_, kHistoryRule,
             [&](const InputProblem& problem) { return history_error(file_, problem.predicate); })
      .stream;
}

std::vector<ResultFile> ResultHistory::last(Size count, std::span<const ResultFile> without) const {
  std::ifstream stream = open_to_read();
  if (!stream.is_open()) return {};
  return within_memory(file_, [&] {
    for (Size read = count;; read *= 2) {
      const std::deque<Line> lines = last_lines(file_, stream, read);
      std::vector<ResultFile> entries = distinct_entries(file_, stream, lines, count, without);
      if (std::ssize(entries) < count && std::ssize(lines) == read) continue;
      std::ranges::reverse(entries);
      return entries;
    }
  });
}

bool ResultHistory::holds(std::span<const ResultFile> records) const {
  const KnownRecords known(records);
  std::ifstream scanned = open_to_read();
  std::ifstream read = open_to_read();
  if (known.empty() || !scanned.is_open() || !read.is_open()) return false;
  bool found = false;
  const auto look = [&](const Line& line) {
    if (found || line.length > kLargestResultFile) return;
    const std::string text = text_of(file_, read, line);
    if (!known.may_have(text)) return;
    try {
      found = known.have(read_result(text, file_.string()));
    } catch (const Error&) {
      found = false;
    }
  };
  within_memory(file_, [&] { for_each_line(file_, scanned, look); });
  return found;
}

void ResultHistory::append(const ResultFile& result) const {
  constexpr mode_t kMode = 0666;
  const Descriptor file(
      open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kMode));
  const int error_number = file.is_open() ? add_line(file.number(), line_of(result)) : errno;
  if (error_number != 0)
    throw history_error(file_, "cannot be written: " + reason_of(error_number));
}

}  // namespace ptbench
