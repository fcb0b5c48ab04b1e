#pragma once

#include <string>
#include <string_view>

namespace ptbench {

/// Text for an element or an attribute. XML 1.0 (section 2.2) has no control characters, which
/// become \xNN, and neither U+FFFE nor U+FFFF, which become U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace ptbench
