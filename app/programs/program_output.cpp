#include "app/programs/program_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/base/log.h"

namespace ptbench {
namespace {

constexpr std::string_view kLabel = "[program] ";
constexpr std::size_t kLastLines = 4;
constexpr std::size_t kLongestLine = 4096;  ///< what is longer comes in pieces
constexpr std::size_t kLongestKept = 300;   ///< of a last line

bool has_words(std::string_view line) {
  return std::ranges::any_of(line, [](unsigned char letter) { return std::isalnum(letter) != 0; });
}

}  // namespace

void ProgramOutput::take(std::string_view text) {
  pending_ += text;
  std::string_view rest = pending_;
  for (;;) {
    const std::size_t end = rest.find_first_of("\n\r");  // bars of progress end with the latter
    if (end == std::string_view::npos && rest.size() <= kLongestLine) break;
    const std::size_t size = std::min(end, kLongestLine);
    handle(rest.substr(0, size));
    rest.remove_prefix(std::min(size + (size == end ? 1 : 0), rest.size()));
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void ProgramOutput::handle(std::string_view line) {
  if (!has_words(line)) return;
  last_.emplace_back(line.substr(0, kLongestKept));
  if (last_.size() > kLastLines) last_.pop_front();
  if (is_cut_ || (shows_once_ && !lines_.is_new(line, lines_.add_process()))) return;
  is_cut_ = shown_ + line.size() > kMostShown;
  shown_ += line.size();
  progress_.clear();
  progress_.pass_on(is_cut_ ? fmt::format("{}prints more than {} KiB, which is not shown\n", kLabel,
                                          kMostShown >> 10U)
                            : fmt::format("{}{}\n", kLabel, printable(line)));
}

std::string ProgramOutput::last_lines() const {
  std::deque<std::string> lines = last_;
  if (has_words(pending_)) lines.push_back(pending_.substr(0, kLongestKept));
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " | ") + printable(line);
  return text;
}

}  // namespace ptbench
