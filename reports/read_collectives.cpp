#include "reports/read_collectives.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "reports/from_json.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace ptbench {
namespace {

using ParsedJson = nlohmann::json;

Error comm_error(const std::string& name, const std::string& what) {
  return usage_error(fmt::format("'{}' {}", single_line(name), what),
                     "name a file that ptbench comm --json has written");
}

/// A row of the array, and what messages call it.
class JsonRow {
 public:
  JsonRow(const ParsedJson& json, const std::string& name, std::size_t number)
      : json_(json), name_(name), number_(number) {
    if (!json.is_object())
      throw comm_error(
          name, fmt::format("is not a list of collectives: element {} is not an object", number));
  }

  [[nodiscard]] std::string text(const char* key) const {
    const ParsedJson& value = at(key);
    if (!value.is_string()) throw wrong(key);
    return value.get<std::string>();
  }

  [[nodiscard]] std::uint64_t count(const char* key) const {
    const ParsedJson& value = at(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargestCount) throw wrong(key);
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] double seconds(const char* key) const {
    const ParsedJson& value = at(key);
    if (!value.is_number() || !(value.get<double>() >= 0)) throw wrong(key);
    return value.get<double>();
  }

 private:
  [[nodiscard]] const ParsedJson& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw wrong(key);
    return *found;
  }

  [[nodiscard]] Error wrong(std::string_view key) const {
    return comm_error(
        name_, fmt::format("has no such \"{}\" in element {} as a collective has", key, number_));
  }

  const ParsedJson& json_;
  const std::string& name_;
  std::size_t number_;
};

}  // namespace

std::vector<CollectiveRecord> read_collectives(const ParsedJson& document,
                                               const std::string& name) {
  if (!document.is_array()) throw comm_error(name, "is not a list of collectives");
  std::vector<CollectiveRecord> records;
  records.reserve(document.size());
  for (const ParsedJson& json : document) {
    const JsonRow row(json, name, records.size());
    records.push_back({.collective = row.text("collective"),
                       .communicator = row.text("communicator"),
                       .ranks = static_cast<Size>(row.count("ranks")),
                       .bytes = row.count("bytes"),
                       .seconds = row.seconds("seconds"),
                       .wrong = static_cast<Size>(row.count("wrong"))});
  }
  return records;
}

}  // namespace ptbench
