#include "reports/loss_log.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

namespace ptbench {
namespace {

/// Longer than any line: a 19-digit step, a comma, a float of at most 15 characters, a line feed.
constexpr std::size_t kLongestLine = 64;

char* write_line(char* at, Size step, float loss) {
  at = std::to_chars(at, at + kLongestLine, step).ptr;
  *at++ = ',';
  if (std::isfinite(loss)) at = std::to_chars(at, at + kLongestLine / 2, loss).ptr;
  *at++ = '\n';
  return at;
}

}  // namespace

LossLog::LossLog(const std::filesystem::path& path) : file_(path) { file_.append("step,loss\n"); }

void LossLog::append(float loss) {
  losses_[stored_++] = loss;
  if (stored_ == losses_.size()) flush();
}

void LossLog::flush() {
  std::array<char, 1 << 14> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  char* end = text.data();
  for (const float loss : std::span(losses_).first(stored_)) {
    if (text.data() + text.size() - end < static_cast<std::ptrdiff_t>(kLongestLine)) {
      file_.append(std::string_view(text.data(), end));
      end = text.data();
    }
    end = write_line(end, ++step_, loss);
  }
  file_.append(std::string_view(text.data(), end));
  stored_ = 0;
}

void LossLog::commit() {
  flush();
  file_.commit();
}

}  // namespace ptbench
