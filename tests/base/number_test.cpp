#include "src/base/number.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("whole numbers are digits and nothing else") {
  CHECK(parse_whole("0") == 0U);
  CHECK(parse_whole("007") == 7U);
  CHECK(parse_whole("18446744073709551615") == 18446744073709551615U);
  for (const char* bad :
       {"", " ", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "18446744073709551616"}) {
    INFO(bad);
    CHECK_FALSE(parse_whole(bad));
  }
  CHECK_FALSE(parse_whole(std::string_view("1\0", 2)));
}

TEST_CASE("real numbers are finite, whatever their spelling") {
  CHECK(parse_real("0.01") == 0.01);
  CHECK(parse_real("1e-3") == 1e-3);
  CHECK(parse_real("-2.5E2") == -250.0);
  CHECK(parse_real(".5") == 0.5);
  for (const char* bad : {"", "nan", "NaN", "inf", "-infinity", "1e999", "-1e999", "1,5", "1.5x",
                          " 1", "1 ", "+1", "0x10", "e5", "."}) {
    INFO(bad);
    CHECK_FALSE(parse_real(bad));
  }
}

}  // namespace ptbench
