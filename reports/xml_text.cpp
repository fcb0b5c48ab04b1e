#include "reports/xml_text.h"

#include "src/base/text.h"

namespace ptbench {

std::string xml_text(std::string_view text) {
  constexpr std::string_view kNoCharacter = "\xEF\xBF";  // of U+FFFE and U+FFFF, and of U+FFFD
  std::string result;
  for (const char letter : single_line(text)) {
    switch (letter) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&apos;"; break;
      default: {
        const bool none =
            result.ends_with(kNoCharacter) && static_cast<unsigned char>(letter) > 0xBD;
        result += none ? '\xBD' : letter;
      }
    }
  }
  return result;
}

}  // namespace ptbench
