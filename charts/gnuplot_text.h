#pragma once

#include <string>
#include <string_view>

namespace ptbench {

/// `text`, from wherever it came, as a string of gnuplot that nothing in it can end: in single
/// quotes, where neither backslashes nor back quotes mean anything, on one line, in valid UTF-8. To
/// be shown with `noenhanced`.
[[nodiscard]] std::string gnuplot_quoted(std::string_view text);

/// The same for a tic's label, which gnuplot takes as a format.
[[nodiscard]] std::string gnuplot_label(std::string_view text);

/// `text` on one line and in valid UTF-8, with its middle left out where it has more than `most`
/// code points (at least 3).
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

}  // namespace ptbench
