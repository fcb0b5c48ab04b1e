#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "src/measure/record.h"

namespace ptbench {

/// A field's value; monostate where it is not known. Doubles are finite: what is not finite counts
/// as not known.
using FieldValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// Units decide how people see a value; files hold plain numbers.
enum class Unit {
  none,  ///< text, or a number without a unit
  count,
  seconds,
  bytes,
  bytes_per_second,
  fraction,  ///< people read it as a percentage
  joules,
  operations,  ///< floating-point; a multiply-add is 2
  operations_per_second,
  samples_per_second,
  tokens_per_second,
};
[[nodiscard]] std::string_view name_of(Unit unit);

/// An interval is two fields, PATH_low and PATH_high, which JSON writes as `"PATH": [low, high]`.
enum class Bound { none, low, high };

/// One scalar field of a run.
struct Field {
  std::string_view path;  ///< as in CSV: "strategy.name", "throughput.ci95_low"
  Unit unit = Unit::none;
  std::string_view summary;  ///< one line for people
  FieldValue (*get)(const RunRecord&) = nullptr;
  /// Whole numbers do for doubles, and enumerations are texts. A value that is not known clears an
  /// optional member and leaves any other as it is. False, and no change, for a value of the wrong
  /// type, a text that names no value of an enumeration, and another unit than the record's.
  bool (*set)(RunRecord&, const FieldValue&) = nullptr;

  /// Which end of an interval it is, by the end of its path.
  [[nodiscard]] Bound bound() const;
  /// The path without "_low" or "_high".
  [[nodiscard]] std::string_view json_path() const;
};

/// Every scalar field of a run record, in the order of the schema. JSON, CSV and the console are
/// derived from it: a field is added here and to the schema, nowhere else.
[[nodiscard]] std::span<const Field> field_table();

/// The field with that path; a path that is not in the table is a defect.
[[nodiscard]] const Field& find_field(std::string_view path);

}  // namespace ptbench
