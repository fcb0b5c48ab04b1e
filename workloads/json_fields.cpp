#include "workloads/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "src/base/log.h"
#include "src/base/suggest.h"
#include "workloads/file_text.h"
#include "workloads/graph.h"

namespace ptbench {
namespace {

using nlohmann::json;

constexpr int kMaximumDepth = 4;              // file, layers, layer, an array of it
constexpr std::size_t kMostValues = 500'000;  // a layer takes some twenty
constexpr std::size_t kLongestName = kLongestShown;

/// The number, if it is a whole one in these bounds; `least` is at least 0.
std::optional<Size> whole_of(const json& value, Size least, Size most) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && !std::in_range<Size>(value.get<std::uint64_t>()))
    return std::nullopt;
  const auto number = value.get<Size>();
  return number < least || number > most ? std::nullopt : std::optional(number);
}

std::string wanted_whole(Size least, Size most) {
  return fmt::format("a whole number from {} to {}, without point and exponent", least,
                     most == kMostElements ? "2^40" : fmt::format("{}", most));
}

/// "line 3, column 7" of the last byte that was read; `bytes` counts it.
std::string position(std::string_view text, std::size_t bytes) {
  const std::string_view before = text.substr(0, bytes == 0 ? 0 : bytes - 1);
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 where there is none
  return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                     before.size() - line_begin + 1);
}

/// The parser's explanation without its own prefix.
std::string explanation(const json::exception& error) {
  const std::string_view what = error.what();
  const std::size_t colon = what.find(": ");
  const std::size_t bracket = what.find("] ");
  if (colon != std::string_view::npos) return shown(what.substr(colon + 2));
  return shown(bracket == std::string_view::npos ? what : what.substr(bracket + 2));
}

/// Watches the parser, which alone would take the last of two equal keys, silently, and any depth.
class ParserGuard {
 public:
  explicit ParserGuard(const JsonFile& file) : file_(file) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    using enum json::parse_event_t;
    const bool begins = event == object_start || event == array_start;
    if (begins && depth >= kMaximumDepth)
      throw file_.error("its values are nested too deeply", "see docs/models.md for the format");
    if ((begins || event == value) && ++values_ > kMostValues)
      throw file_.error(fmt::format("it holds more than {} values", kMostValues),
                        "give a model of at most 10000 layers");
    if (event == object_start) keys_.emplace_back();
    if (event == object_end) keys_.pop_back();
    if (event == key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(name).second)
        throw file_.error(fmt::format("an object holds the key '{}' twice", shown(name)),
                          "remove one of the two");
    }
    return true;
  }

 private:
  const JsonFile& file_;
  std::vector<std::set<std::string>> keys_;  ///< of the objects that are open
  std::size_t values_ = 0;
};

}  // namespace

Error JsonFile::error(const std::string& what, std::string remedy) const {
  return usage_error(fmt::format("model file '{}': {}", printable(name), what), std::move(remedy));
}

json parse_json(const JsonFile& file, std::string_view text) {
  const std::string remedy = "fix the JSON; see docs/models.md for the format";
  ParserGuard watch(file);
  try {
    return json::parse(text, std::ref(watch));
  } catch (const json::parse_error& error) {
    throw file.error(
        fmt::format("{}: this is not JSON: {}", position(text, error.byte), explanation(error)),
        remedy);
  } catch (const json::exception& error) {
    throw file.error("it is not usable JSON: " + explanation(error), remedy);
  }
}

std::string hint(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestName) return {};
  const std::string guess = did_you_mean(word, candidates);
  return guess.empty() ? std::string{} : fmt::format(" ({})", guess);
}

void check_name(const JsonFile& file, std::string_view place, std::string_view name) {
  const auto complain = [&](std::string_view what) {
    throw file.error(
        fmt::format("{} has {}", place, what),
        fmt::format("name it with 1 to {} bytes and no control characters", kLongestName));
  };
  if (name.empty()) complain("an empty name");
  if (name.size() > kLongestName) complain(fmt::format("a name of {} bytes", name.size()));
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const auto next = static_cast<unsigned char>(i + 1 < name.size() ? name[i + 1] : '\0');
    // U+0080 to U+009F are control characters too, C2 80 to C2 9F in UTF-8.
    if (byte < 0x20 || byte == 0x7F || (byte == 0xC2 && next < 0xA0))
      complain("a name with a control character, '" + shown(name) + "'");
  }
}

JsonFields::JsonFields(const JsonFile& file, std::string place, const json& value)
    : file_(file), place_(std::move(place)), value_(value) {
  if (!value.is_object())
    throw error("this is not an object", "write it as { \"key\": value, ... }");
}

Error JsonFields::error(const std::string& what, std::string remedy) const {
  return file_.error(place_.empty() ? what : fmt::format("{}: {}", place_, what),
                     std::move(remedy));
}

Error JsonFields::wrong(std::string_view key, const std::string& wanted) const {
  const std::string held = at(key).dump(-1, ' ', false, json::error_handler_t::replace);
  return error(fmt::format("'{}' is {}", key, shown(held)), "give " + wanted);
}

const json* JsonFields::find(std::string_view key) const {
  const auto found = value_.find(std::string(key));
  return found == value_.end() ? nullptr : &*found;
}

void JsonFields::allow(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : value_.items())
    if (std::ranges::find(keys, key) == keys.end())
      throw error(fmt::format("unknown key '{}'{}", shown(key), hint(key, keys)),
                  fmt::format("take from: {}", fmt::join(keys, ", ")));
}

bool JsonFields::has(std::string_view key) const { return find(key) != nullptr; }

const json& JsonFields::at(std::string_view key) const {
  const json* found = find(key);
  if (found == nullptr) throw error(fmt::format("the key '{}' is missing", key), "add it");
  return *found;
}

const std::string& JsonFields::text(std::string_view key) const {
  const json& value = at(key);
  if (!value.is_string()) throw wrong(key, "a string");
  return value.get_ref<const std::string&>();
}

std::string JsonFields::choice(std::string_view key, const std::vector<std::string>& choices,
                               const std::optional<std::string>& fallback) const {
  if (fallback && !has(key)) return *fallback;
  const std::string wanted = fmt::format("one of: {}", fmt::join(choices, ", "));
  if (!at(key).is_string()) throw wrong(key, wanted);
  const std::string& chosen = text(key);
  if (std::ranges::find(choices, chosen) == choices.end())
    throw error(fmt::format("unknown {} '{}'{}", key, shown(chosen), hint(chosen, choices)),
                "give " + wanted);
  return chosen;
}

bool JsonFields::flag(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!at(key).is_boolean()) throw wrong(key, "true or false");
  return at(key).get<bool>();
}

Size JsonFields::whole(std::string_view key, Size least, Size most,
                       std::optional<Size> fallback) const {
  if (fallback && !has(key)) return *fallback;
  const std::optional<Size> number = whole_of(at(key), least, most);
  if (!number) throw wrong(key, wanted_whole(least, most));
  return *number;
}

std::vector<Size> JsonFields::wholes(std::string_view key, Size least, Size most) const {
  std::vector<Size> numbers;
  const std::string wanted = "an array; each element " + wanted_whole(least, most);
  if (!at(key).is_array()) throw wrong(key, wanted);
  for (const json& element : at(key)) {
    const std::optional<Size> number = whole_of(element, least, most);
    if (!number) throw wrong(key, wanted);
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> JsonFields::texts(std::string_view key) const {
  const json& value = at(key);
  const auto is_text = [](const json& element) { return element.is_string(); };
  if (!value.is_array() || !std::ranges::all_of(value, is_text))
    throw wrong(key, "an array of strings");
  return value.get<std::vector<std::string>>();
}

Extent JsonFields::extent(std::string_view key, Size least, Size most,
                          std::optional<Extent> fallback) const {
  if (fallback && !has(key)) return *fallback;
  if (const std::optional<Size> both = whole_of(at(key), least, most)) return {*both, *both};
  const std::string wanted = wanted_whole(least, most) + ", or two as [height, width]";
  if (!at(key).is_array() || at(key).size() != 2) throw wrong(key, wanted);
  const std::optional<Size> height = whole_of(at(key)[0], least, most);
  const std::optional<Size> width = whole_of(at(key)[1], least, most);
  if (!height || !width) throw wrong(key, wanted);
  return {*height, *width};
}

double JsonFields::real(std::string_view key, double least, double most, double fallback) const {
  if (!has(key)) return fallback;
  const json& value = at(key);
  // Not a number is neither less nor more; JSON cannot say it.
  if (!value.is_number() || value.get<double>() < least || value.get<double>() > most)
    throw wrong(key, fmt::format("a number from {} to {}", least, most));
  return value.get<double>();
}

}  // namespace ptbench
