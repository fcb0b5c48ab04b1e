#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ptbench {

/// Indented JSON text for people and programs: arrays of plain values stand on one line, doubles
/// are as short as reads back exactly, strings are valid UTF-8 with every control character
/// escaped. No newline at the end.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value);

}  // namespace ptbench
