#include "src/base/suggest.h"

#include <fmt/format.h>

#include "src/base/text.h"

namespace ptbench {
namespace {

/// One other letter makes another word of a short one, most of all the first letter: "gelu" and
/// "relu". Letters that changed places do not.
bool may_be_a_slip(std::string word, std::string name) {
  constexpr std::size_t kShort = 4;
  if (word.empty() || word.size() > kShort || word.front() == name.front()) return true;
  std::ranges::sort(word);
  std::ranges::sort(name);
  return word == name;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 5 + 2;  // one slip in five letters, and one more
  const std::string wanted = in_lower_case(word);
  for (const std::string& candidate : candidates) {
    const std::string name = in_lower_case(candidate);
    const bool begins = wanted.size() >= 2 && name != wanted && name.starts_with(wanted);
    const std::size_t distance = begins ? 1 : edit_distance(wanted, name);
    if (distance < best_distance && distance < candidate.size() && may_be_a_slip(wanted, name)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? std::string{} : fmt::format("did you mean '{}'?", best);
}

}  // namespace ptbench
