#include "reports/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "reports/json_text.h"
#include "src/base/error.h"
#include "src/base/input_file.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using ParsedJson = nlohmann::json;
constexpr InputRule kSchemaRule{.largest = Bytes{16} << 20U};
using Adapter = valijson::adapters::NlohmannJsonAdapter;

/// valijson tells a place as "<root>", "[runs]", "[0]", …
std::string pointer_of(const std::vector<std::string>& context) {
  std::string pointer;
  for (const std::string& step : context) {
    if (step.size() < 2 || step.front() != '[') continue;
    pointer += '/' + pointer_token(std::string_view(step).substr(1, step.size() - 2));
  }
  return pointer;
}

/// What stands at `pointer`, shortened.
std::string excerpt_at(const ParsedJson& document, const std::string& pointer) {
  const ParsedJson& value = document.at(ParsedJson::json_pointer(pointer));
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  constexpr std::size_t kLongest = 40;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "…";
}

std::string message_for(const std::string& description, const ParsedJson& document,
                        const std::string& pointer) {
  if (description.starts_with("Missing")) return description;
  const std::string found = excerpt_at(document, pointer);
  if (description.find("'type'") != std::string::npos)
    return fmt::format("of a type that is not allowed here: {}", found);
  if (description.find("enum") != std::string::npos ||
      description.find("'const'") != std::string::npos)
    return fmt::format("not among the values allowed here: {}", found);
  return fmt::format("{} Found {}.", description, found);
}

std::vector<SchemaProblem> readable(const valijson::ValidationResults& results,
                                    const ParsedJson& document) {
  std::vector<SchemaProblem> problems;
  for (const valijson::ValidationResults::Error& error : results) {
    // Each problem is followed by one note for every object that it lies in.
    if (error.description.starts_with("Failed to validate")) continue;
    const std::string pointer = pointer_of(error.context);
    problems.push_back(
        {single_line(pointer), single_line(message_for(error.description, document, pointer))});
  }
  return problems;
}

bool matches(std::string_view text, std::string_view shape) {
  return text.size() == shape.size() &&
         std::equal(text.begin(), text.end(), shape.begin(), [](char letter, char expected) {
           return expected == '0' ? letter >= '0' && letter <= '9' : letter == expected;
         });
}

/// Date and time by RFC 3339, section 5.6, in the form that ptbench writes and with offsets and
/// fractions. Not a `format` of the schema: regular expressions recurse once a character.
bool is_date_time(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (!matches(text.substr(0, kShape.size()), kShape)) return false;
  text.remove_prefix(kShape.size());
  if (text.starts_with('.')) {
    const std::size_t end = text.find_first_not_of("0123456789", 1);
    if (end == std::string_view::npos || end == 1) return false;
    text.remove_prefix(end);
  }
  return text == "Z" || matches(text, "+00:00") || matches(text, "-00:00");
}

/// Slices of samples that are not there. Where step_seconds were left out, nothing can be told.
void find_slice_problems(const ParsedJson& run, std::size_t index,
                         std::vector<SchemaProblem>& problems) {
  const ParsedJson& samples = run.at("samples");
  const std::size_t count = samples.at("step_seconds").size();
  if (count == 0) return;
  std::size_t number = 0;
  for (const ParsedJson& slice : samples.at("slices")) {
    const auto first = slice.at("first").get<std::size_t>();
    if (first + slice.at("count").get<std::size_t>() > count)
      problems.push_back({fmt::format("/runs/{}/samples/slices/{}", index, number),
                          fmt::format("reaches beyond the run's {} samples", count)});
    ++number;
  }
}

/// What holds beyond the schema, for a document that keeps to it.
std::vector<SchemaProblem> beyond_schema(const ParsedJson& document) {
  std::vector<SchemaProblem> problems;
  if (!is_date_time(document.at("created").get_ref<const std::string&>()))
    problems.push_back({"/created", "not a date and time as in RFC 3339"});
  std::unordered_map<std::string_view, std::size_t> first_with;
  std::size_t index = 0;
  for (const ParsedJson& run : document.at("runs")) {
    const auto& id = run.at("id").get_ref<const std::string&>();
    const auto [first, is_new] = first_with.emplace(id, index);
    if (!is_new)
      problems.push_back({fmt::format("/runs/{}/id", index),
                          fmt::format("the same as that of run {}", first->second)});
    find_slice_problems(run, index, problems);
    ++index;
  }
  return problems;
}

ParsedJson read_json(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& what) {
    return capability_error(fmt::format("the schema '{}' {}", single_line(path.string()), what),
                            "install ptbench again: its schema belongs to it");
  };
  const auto refuse = [&](const InputProblem& problem) { return fail(problem.predicate); };
  ParsedJson json = ParsedJson::parse(read_input(path, kSchemaRule, refuse), nullptr, false);
  if (!json.is_object()) throw fail("is not a JSON Schema");
  return json;
}

}  // namespace

struct ResultSchema::Compiled {
  std::array<valijson::Schema, 2> versions;  ///< 1, 2

  /// Of the document.
  [[nodiscard]] const valijson::Schema& schema_of(const ParsedJson& document) const {
    const bool is_first = document.is_object() && document.value("schema", ParsedJson()) == kFirst;
    return is_first ? versions.front() : versions.back();
  }

  static constexpr const char* kFirst = "ptbench.result/1";
};

ResultSchema::ResultSchema(const std::filesystem::path& folder)
    : compiled_(std::make_unique<Compiled>()) {
  int version = 0;
  for (valijson::Schema& schema : compiled_->versions) {
    const ParsedJson json =
        read_json(folder / fmt::format("ptbench.result-{}.schema.json", ++version));
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(json), schema);
  }
}

ResultSchema::~ResultSchema() = default;

std::vector<SchemaProblem> ResultSchema::problems_of(const ParsedJson& document) const {
  valijson::ValidationResults results;
  const bool valid =
      valijson::Validator().validate(compiled_->schema_of(document), Adapter(document), &results);
  return valid ? beyond_schema(document) : readable(results, document);
}

}  // namespace ptbench
