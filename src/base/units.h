#pragma once

#include <string>

#include "src/base/size.h"

namespace ptbench {

inline constexpr double kMillisecondsPerSecond = 1e3;
inline constexpr double kPercent = 100;  ///< of a whole

/// "1.5 GiB", "64 KiB", "12 B": three significant digits, powers of two.
[[nodiscard]] std::string format_bytes(Bytes bytes);

/// "6.01 ms", "850 ns", "2.5 s", "3 min 5 s": three significant digits below a minute.
[[nodiscard]] std::string format_duration(double seconds);

/// "0.58 %", "12.3 %", "5.00 %" of 0.05: three significant digits from 1 % on.
[[nodiscard]] std::string format_percent(double fraction);

/// "21.3 k", "204 G": three significant digits with an SI prefix, for rates and operations.
[[nodiscard]] std::string format_si(double value);

/// "1,861,642": for counts that people compare digit by digit.
[[nodiscard]] std::string format_count(Size count);

}  // namespace ptbench
