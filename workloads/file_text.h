#pragma once

#include <string>
#include <string_view>
#include <vector>

// Text out of files that anybody wrote, in messages for people.
namespace ptbench {

/// The longest text that is shown whole, in bytes.
inline constexpr std::size_t kLongestShown = 200;

/// Text from a file, fit for a message whatever it is: printable, and cut off where it is long.
[[nodiscard]] std::string shown(std::string_view text);

/// The same between apostrophes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// A list for people: the first `most`, and how many more.
[[nodiscard]] std::string few(const std::vector<std::string>& items, std::size_t most);

}  // namespace ptbench
