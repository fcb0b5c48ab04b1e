#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ptbench {

/// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other: optimal
/// string alignment distance.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, in whatever case, if it is near enough to be a slip of the
/// finger; else empty.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// " did you mean 'x'?" or an empty string, to close an error message with.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace ptbench
