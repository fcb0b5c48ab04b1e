#include "reports/read_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <new>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reports/from_json.h"
#include "src/base/input_file.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

namespace fs = std::filesystem;
using ParsedJson = nlohmann::json;

constexpr std::string_view kFamily = "ptbench.result/";
constexpr std::string_view kSchema = "ptbench.result/2";  // what is written
constexpr std::array<std::string_view, 2> kReadable{"ptbench.result/1", kSchema};
constexpr std::size_t kDeepest = 64;
constexpr InputRule kResultRule{.largest = kLargestResultFile, .pipes = true};
constexpr const char* kSmaller =
    "split its runs into several files, or leave their step_seconds out";

/// Line and column, both from 1, of the `position`th character.
std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", 1 + std::ranges::count(before, '\n'),
                     before.size() - start + 1);
}

/// nlohmann's message without its code, its place, and the last token, which may be the whole file.
std::string reason_of(const std::exception& error) {
  constexpr std::string_view kPlace = ", column ";
  constexpr std::size_t kLongest = 120;
  std::string_view text = error.what();
  if (const std::size_t code = text.find("] "); code != std::string_view::npos)
    text.remove_prefix(code + 2);
  if (const std::size_t place = text.find(kPlace); place != std::string_view::npos)
    text.remove_prefix(text.find(": ", place) + 2);
  text = text.substr(0, text.find("; last read"));
  return single_line(text.substr(0, kLongest));
}

/// Leaves nothing below `json`. nlohmann's own destructor takes memory for all that it drops, and
/// ends the program where there is none. Nothing is nested deeper than kDeepest.
void take_apart(ParsedJson& json) noexcept {
  if (auto* const elements = json.get_ptr<ParsedJson::array_t*>()) {
    for (ParsedJson& element : *elements) take_apart(element);
    elements->clear();
  } else if (auto* const members = json.get_ptr<ParsedJson::object_t*>()) {
    for (auto& [key, value] : *members) take_apart(value);
    members->clear();
  }
}

/// What is read of a text.
enum class Wanted { runs, document };

/// What the reader of the text calls for each piece of JSON, in nlohmann's own terms. The document
/// grows in `root_`; where runs are wanted, each is turned into a record as soon as it is whole,
/// and dropped.
///
/// nlohmann's parser with a callback, which could drop values too, looks at all elements of an
/// array again after each object in it, and lets the second of two equal keys win.
class ResultParser {
 public:
  ResultParser(std::string_view text, const std::string& name, Wanted wanted)
      : text_(text), name_(name), wanted_(wanted) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  /// Only of numbers with a sign. There is no integer -0, but a double.
  bool number_integer(std::int64_t value) { return value == 0 ? add(-0.0) : add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*token*/) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(ParsedJson::binary_t& value) { return add(std::move(value)); }
  bool start_object(std::size_t /*members*/) { return open(ParsedJson::object()); }
  bool start_array(std::size_t /*elements*/) { return open(ParsedJson::array()); }
  bool key(const std::string& key);
  bool end_object();
  bool end_array();
  [[noreturn]] bool parse_error(std::size_t position, const std::string& token,
                                const std::exception& error);

  /// The file, after the whole text, where runs are wanted.
  [[nodiscard]] ResultFile finish();
  /// The document, after the whole text.
  [[nodiscard]] JsonDocument take_document() { return std::move(root_); }

 private:
  /// An object or array that has not ended.
  struct Level {
    ParsedJson* json;
    ParsedJson::object_t::value_type* member = nullptr;  ///< of an object: the one read last
  };

  bool add(ParsedJson value);
  bool open(ParsedJson value);
  ParsedJson& place_for(const ParsedJson& value);
  [[nodiscard]] bool in_runs() const { return runs_ != nullptr && levels_.back().json == runs_; }
  [[nodiscard]] std::string pointer() const;
  void check_schema();
  void take_run();

  std::string_view text_;
  const std::string& name_;
  Wanted wanted_;
  RunReader reader_;
  JsonDocument root_{new ParsedJson};
  std::vector<Level> levels_;
  ParsedJson* runs_ = nullptr;  ///< while it is open
  int version_ = 0;             ///< of the schema, once it is known
  std::vector<RunRecord> records_;
  std::unordered_map<std::string, std::size_t> first_with_;  ///< id → index of the run
  bool has_runs_ = false;
};

/// Where `value` belongs; it replaces or follows what is there.
ParsedJson& ResultParser::place_for(const ParsedJson& value) {
  if (levels_.empty()) {
    if (wanted_ == Wanted::runs && !value.is_object())
      throw result_error(name_, "is not a result: it is not an object");
    return *root_;
  }
  ParsedJson& parent = *levels_.back().json;
  if (parent.is_object()) return levels_.back().member->second;
  if (in_runs() && !value.is_object()) {
    const Place document(name_);
    const Place runs(document, "runs");
    throw Place(runs, records_.size()).cannot_be(value);
  }
  return parent.emplace_back();
}

bool ResultParser::add(ParsedJson value) {
  ParsedJson& place = place_for(value);  // first: it looks at the value
  place = std::move(value);
  return true;
}

bool ResultParser::open(ParsedJson value) {
  if (levels_.size() == kDeepest)
    throw result_error(name_,
                       fmt::format("is nested more than {} deep at {}", kDeepest, pointer()));
  const bool starts_runs = wanted_ == Wanted::runs && levels_.size() == 1 &&
                           levels_.back().member->first == "runs" && value.is_array();
  ParsedJson& place = place_for(value);
  place = std::move(value);
  levels_.push_back({.json = &place});
  if (starts_runs) {
    runs_ = &place;
    has_runs_ = true;
  }
  return true;
}

bool ResultParser::key(const std::string& key) {
  Level& level = levels_.back();
  const auto [member, is_new] = level.json->get_ref<ParsedJson::object_t&>().emplace(key, nullptr);
  level.member = &*member;
  if (!is_new) throw result_error(name_, fmt::format("has {} twice", pointer()));
  if (wanted_ == Wanted::runs && levels_.size() == 1 && key == "runs") check_schema();
  return true;
}

bool ResultParser::end_object() {
  levels_.pop_back();
  if (!levels_.empty() && in_runs()) take_run();
  return true;
}

bool ResultParser::end_array() {
  if (in_runs()) runs_ = nullptr;
  levels_.pop_back();
  return true;
}

bool ResultParser::parse_error(std::size_t position, const std::string& /*token*/,
                               const std::exception& error) {
  throw result_error(name_, fmt::format("is not JSON: {}: {}", line_and_column(text_, position),
                                        reason_of(error)));
}

/// Of the member read last, or of the element that is about to begin.
std::string ResultParser::pointer() const {
  std::vector<Place> places{Place(name_)};
  places.reserve(levels_.size() + 1);  // places point at each other
  for (const Level& level : levels_) {
    if (level.json->is_object()) {
      places.emplace_back(places.back(), level.member->first);
      continue;
    }
    const std::size_t begun = &level == &levels_.back() ? 0 : 1;
    const std::size_t index = level.json == runs_ ? records_.size() : level.json->size() - begun;
    places.emplace_back(places.back(), index);
  }
  return places.back().pointer();
}

/// Before the first run: a newer one's fields would be called wrong.
void ResultParser::check_schema() {
  const auto found = root_->find("schema");
  if (found == root_->end()) {
    throw result_error(name_, fmt::format("has no \"schema\" before its \"runs\"; a result starts "
                                          "with \"schema\": \"{}\"",
                                          kSchema));
  }
  if (!found->is_string()) throw Place(Place(name_), "schema").cannot_be(*found);
  const auto& schema = found->get_ref<const std::string&>();
  const auto* const readable = std::ranges::find(kReadable, schema);
  if (readable != kReadable.end()) {
    version_ = 1 + static_cast<int>(readable - kReadable.begin());
    return;
  }
  if (schema.starts_with(kFamily))
    throw result_error(name_,
                       fmt::format("was written by a newer ptbench: its schema is {}, this one "
                                   "reads {}",
                                   single_line(schema.substr(0, 2 * kSchema.size())),
                                   fmt::join(kReadable, " and ")),
                       "use the ptbench that wrote it, or a newer one");
  throw result_error(name_,
                     fmt::format("is not a result: its schema is '{}', not {}",
                                 single_line(schema.substr(0, 2 * kSchema.size())), kSchema));
}

void ResultParser::take_run() {
  const Place document(name_);
  const Place runs(document, "runs");
  const std::size_t index = records_.size();
  const RunRecord& run =
      records_.emplace_back(reader_.read(runs_->back(), Place(runs, index), version_));
  take_apart(*runs_);
  const auto [first, is_new] = first_with_.emplace(run.id, index);
  if (!is_new)
    throw result_error(name_, fmt::format("has two runs with one id: /runs/{}/id is the same as "
                                          "/runs/{}/id",
                                          index, first->second));
}

ResultFile ResultParser::finish() {
  check_schema();
  const Place document(name_);
  if (const auto runs = root_->find("runs"); runs != root_->end() && !runs->is_array())
    throw Place(document, "runs").cannot_be(*runs);
  if (!has_runs_) throw result_error(name_, "is not a result: it has no \"runs\"");
  ResultFile file = read_frame(*root_, document);
  file.schema_version = version_;
  file.runs = std::move(records_);
  return file;
}

std::string text_of(const fs::path& path) {
  return read_input(path, kResultRule, [&](const InputProblem& problem) {
    if (problem.is_large) return result_error(path.string(), problem.predicate, kSmaller);
    return result_error(path.string(), problem.predicate);
  });
}

/// What `read` makes of the file's text.
template <class Read>
auto from_file(const fs::path& path, const Read& read) {
  try {
    return read(text_of(path), path.string());
  } catch (const std::bad_alloc&) {  // everything is given back by now
    throw out_of_memory(path);
  }
}

}  // namespace

void TakeApart::operator()(ParsedJson* document) const noexcept {
  take_apart(*document);
  std::default_delete<ParsedJson>()(document);
}

Error out_of_memory(const fs::path& path) {
  return result_error(path.string(), "needs more memory than there is", kSmaller);
}

ResultFile read_result(std::string_view text, const std::string& name) {
  ResultParser parser(text, name, Wanted::runs);
  (void)ParsedJson::sax_parse(text.begin(), text.end(), &parser);
  return parser.finish();
}

ResultFile read_result_file(const fs::path& path) { return from_file(path, read_result); }

JsonDocument read_json(std::string_view text, const std::string& name) {
  ResultParser parser(text, name, Wanted::document);
  (void)ParsedJson::sax_parse(text.begin(), text.end(), &parser);
  return parser.take_document();
}

JsonDocument read_json_file(const fs::path& path) { return from_file(path, read_json); }

}  // namespace ptbench
