#include "src/process/process_messages.h"

#include <algorithm>
#include <cctype>

#include "src/base/text.h"
#include "src/process/progress.h"

namespace ptbench {
namespace {

// As log_error and main write them.
constexpr std::string_view kError = "ptbench: error: ";
constexpr std::string_view kRemedy = "ptbench: remedy: ";
// Who writes no ends of lines is passed on in pieces.
constexpr std::size_t kLongestPiece = 1 << 16;

/// Bytes up to the end of the first line or line of progress; 0 if there is no end yet.
std::size_t first_piece(std::string_view text) {
  const std::size_t line = text.find('\n');
  const std::size_t progress = text.substr(0, line).find(kClearRest);
  if (progress != std::string_view::npos) return progress + kClearRest.size();
  if (line != std::string_view::npos) return line + 1;
  return text.size() > kLongestPiece ? text.size() : 0;
}

}  // namespace

void ProcessMessages::take(std::string_view text) {
  pending_ += text;
  std::string_view rest = pending_;
  for (std::size_t size = first_piece(rest); size > 0; size = first_piece(rest)) {
    handle(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void ProcessMessages::finish() {
  if (!pending_.empty()) handle(pending_);
  pending_.clear();
}

void ProcessMessages::handle(std::string_view piece) {
  std::string_view line = piece;
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.starts_with(kError)) {
    error_ = line.substr(kError.size());
  } else if (line.starts_with(kRemedy)) {
    remedy_ = line.substr(kRemedy.size());
  } else {
    const bool is_message = !line.empty() && !line.ends_with(kClearRest);
    const bool is_repeated =
        is_message && shown_ != nullptr && !shown_->is_new(label_ + std::string(line), process_);
    // One call for label and message, so that those of several processes do not mix.
    if (!is_repeated)
      progress_.pass_on(is_message ? label_ + std::string(piece) : std::string(piece));
    const bool says_something =
        std::ranges::any_of(line, [](unsigned char letter) { return std::isalnum(letter) != 0; });
    if (is_message && says_something) last_line_ = line;
  }
}

std::string ProcessMessages::last() const {
  return single_line(error_.empty() ? last_line_ : error_);
}

}  // namespace ptbench
