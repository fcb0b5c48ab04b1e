#include "reports/json_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "reports/field_text.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using Json = nlohmann::ordered_json;

/// JSON itself lets DEL and the C1 controls through, a terminal would act on them.
bool holds_late_control(std::string_view valid) { return single_line(valid) != valid; }

class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) {}

  void write(const Json& value, std::size_t depth) {
    if (value.is_object())
      write_object(value, depth);
    else if (value.is_array())
      write_array(value, depth);
    else if (value.is_string())
      write_string(value.get_ref<const std::string&>());
    else if (value.is_number_float())
      text_ += number_text(value.get<double>());
    else
      text_ += value.dump();
  }

 private:
  void write_object(const Json& object, std::size_t depth) {
    if (object.empty()) {
      text_ += "{}";
      return;
    }
    text_ += '{';
    bool first = true;
    for (const auto& [key, value] : object.items()) {
      next_line(first, depth + 1);
      write_string(key);
      text_ += ": ";
      write(value, depth + 1);
    }
    end_line(depth);
    text_ += '}';
  }

  void write_array(const Json& array, std::size_t depth) {
    const bool plain =
        std::ranges::none_of(array, [](const Json& value) { return value.is_structured(); });
    text_ += '[';
    bool first = true;
    for (const Json& value : array) {
      if (!plain)
        next_line(first, depth + 1);
      else if (!std::exchange(first, false))
        text_ += ", ";
      write(value, depth + 1);
    }
    if (!plain) end_line(depth);
    text_ += ']';
  }

  void write_string(const std::string& raw) {
    const std::string valid = valid_utf8(raw);
    text_ += Json(valid).dump(-1, ' ', holds_late_control(valid));
  }

  void next_line(bool& first, std::size_t depth) {
    if (!std::exchange(first, false)) text_ += ',';
    end_line(depth);
  }

  void end_line(std::size_t depth) {
    text_ += '\n';
    text_.append(2 * depth, ' ');
  }

  std::string& text_;
};

}  // namespace

std::string json_text(const nlohmann::ordered_json& value) {
  std::string text;
  Writer(text).write(value, 0);
  return text;
}

Json json_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::string pointer_token(std::string_view name) {
  std::string token;
  for (const char letter : name) {
    if (letter == '~')
      token += "~0";
    else if (letter == '/')
      token += "~1";
    else
      token += letter;
  }
  return token;
}

}  // namespace ptbench
