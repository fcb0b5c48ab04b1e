#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"

namespace ptbench {

/// A model file, for complaints about it.
struct JsonFile {
  std::string name;  ///< as the user gave it

  /// A usage error that names the file.
  [[nodiscard]] Error error(const std::string& what, std::string remedy) const;
};

/// `text` as JSON. Throws a usage error with line and column for what is not JSON, and one for an
/// object with two equal keys, for deeper nesting than model files need, and for more values than a
/// model of 10000 layers has.
[[nodiscard]] nlohmann::json parse_json(const JsonFile& file, std::string_view text);

/// " (did you mean 'x'?)", or nothing.
[[nodiscard]] std::string hint(std::string_view word, const std::vector<std::string>& candidates);

/// Throws a usage error unless `name` is fit to name a layer or a model: 1 to 200 bytes, no control
/// characters. `place` is who bears it.
void check_name(const JsonFile& file, std::string_view place, std::string_view name);

/// Two numbers that go with height and width; a single number in the file is both.
struct Extent {
  Size height = 0;
  Size width = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// An object of a model file, read key by key. Each function throws a usage error that names file,
/// place, key, what it holds and what it should; one without a fallback requires its key.
class JsonFields {
 public:
  /// `place` ("layer 'conv1'") is empty for the file's own object. File and `value` outlive this.
  JsonFields(const JsonFile& file, std::string place, const nlohmann::json& value);

  [[nodiscard]] Error error(const std::string& what, std::string remedy) const;
  /// Refuses keys that are not in `keys`.
  void allow(const std::vector<std::string>& keys) const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// The value of a required key.
  [[nodiscard]] const nlohmann::json& at(std::string_view key) const;
  [[nodiscard]] const std::string& text(std::string_view key) const;
  /// One of `choices`.
  [[nodiscard]] std::string choice(std::string_view key, const std::vector<std::string>& choices,
                                   const std::optional<std::string>& fallback = {}) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  /// A whole number from `least` to `most`, written without point and exponent.
  [[nodiscard]] Size whole(std::string_view key, Size least, Size most,
                           std::optional<Size> fallback = {}) const;
  /// An array of whole numbers.
  [[nodiscard]] std::vector<Size> wholes(std::string_view key, Size least, Size most) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] Extent extent(std::string_view key, Size least, Size most,
                              std::optional<Extent> fallback = {}) const;
  [[nodiscard]] double real(std::string_view key, double least, double most, double fallback) const;

 private:
  /// Complains of what `key` holds.
  [[nodiscard]] Error wrong(std::string_view key, const std::string& wanted) const;
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

  const JsonFile& file_;
  std::string place_;
  const nlohmann::json& value_;
};

}  // namespace ptbench
