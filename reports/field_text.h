#pragma once

#include <string>

#include "src/measure/field_table.h"

namespace ptbench {

/// The shortest decimal text that reads back as the same double, always with '.'; `value` is
/// finite.
[[nodiscard]] std::string number_text(double value);

/// For people: three or four significant digits in a fitting unit, "6.01 ms", "21.3 k samples/s",
/// "78.1 %"; text on one line without control characters. Empty where the value is not known.
[[nodiscard]] std::string human_text(const FieldValue& value, Unit unit);

}  // namespace ptbench
