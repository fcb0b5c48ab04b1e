#include "src/base/units.h"

#include <catch2/catch.hpp>
#include <limits>

#include "src/base/rough_duration.h"

namespace ptbench {

TEST_CASE("durations have three significant digits below a minute", "[base]") {
  CHECK(format_duration(0) == "0 s");
  CHECK(format_duration(0.00601) == "6.01 ms");
  CHECK(format_duration(850e-9) == "850 ns");
  CHECK(format_duration(185) == "3 min 5 s");
  CHECK(format_duration(7260) == "2 h 1 min");
}

TEST_CASE("durations beyond all measure stay short", "[base]") {
  CHECK(format_duration(1e300) == "1e+300 s");
  CHECK(format_duration(-1e300) == "-1e+300 s");
  CHECK(format_duration(std::numeric_limits<double>::infinity()) == "inf s");
  CHECK(format_duration(std::numeric_limits<double>::quiet_NaN()) == "nan s");
  CHECK(format_duration(3.6e11) == "100000000 h 0 min");
}

TEST_CASE("percentages have three significant digits from one on", "[base]") {
  CHECK(format_percent(0.0058) == "0.58 %");
  CHECK(format_percent(0.05) == "5.00 %");
  CHECK(format_percent(0.1234) == "12.3 %");
  CHECK(format_percent(-1.5) == "-150 %");
  CHECK(format_percent(0) == "0.00 %");
  CHECK(format_percent(1e200) == "1e+202 %");
}

TEST_CASE("durations are rounded as people say them") {
  CHECK(rough_duration(0.2) == "1 second");
  CHECK(rough_duration(7.4) == "7 seconds");
  CHECK(rough_duration(42) == "40 seconds");
  CHECK(rough_duration(100) == "2 minutes");
  CHECK(rough_duration(3000) == "50 minutes");
  CHECK(rough_duration(2 * 3600 + 100) == "2 hours");
}

}  // namespace ptbench
