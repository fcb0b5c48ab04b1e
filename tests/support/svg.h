#pragma once

#include <string>

namespace ptbench::testing {

/// What `svg` shows as text, a line each. Throws where it is no well-formed XML, or no SVG.
[[nodiscard]] std::string texts_of_svg(const std::string& svg);

}  // namespace ptbench::testing
