#include "reports/field_text.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "src/base/error.h"

namespace ptbench {

TEST_CASE("numbers are as short as reads back exactly", "[reports]") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(0) == "0");
  CHECK(number_text(-0.0) == "-0");
  CHECK(number_text(1.0 / 3) == "0.3333333333333333");
  CHECK(number_text(5e-324) == "5e-324");
  CHECK(number_text(-1.7976931348623157e308) == "-1.7976931348623157e+308");
  CHECK_THROWS_AS(number_text(std::nan("")), Defect);
}

TEST_CASE("people read values in fitting units", "[reports]") {
  CHECK(human_text(0.00601, Unit::seconds) == "6.01 ms");
  CHECK(human_text(std::int64_t{1536}, Unit::bytes) == "1.50 KiB");
  CHECK(human_text(0.78049, Unit::fraction) == "78.0 %");
  CHECK(human_text(21345.0, Unit::samples_per_second) == "21.3 k samples/s");
  CHECK(human_text(186e9, Unit::operations_per_second) == "186 GFLOP/s");
  CHECK(human_text(18.0, Unit::operations) == "18.0 FLOP");
  CHECK(human_text(std::int64_t{1'863'690}, Unit::count) == "1,863,690");
  CHECK(human_text(0.25, Unit::joules) == "0.25 J");
  CHECK(human_text(0.01, Unit::none) == "0.01");
  CHECK(human_text(true, Unit::none) == "yes");
  CHECK(human_text("a\nb", Unit::none) == "a\\x0ab");
  CHECK(human_text({}, Unit::seconds).empty());
}

TEST_CASE("every unit can be read", "[reports]") {
  for (const Field& field : field_table()) CHECK_FALSE(human_text(1.0, field.unit).empty());
}

}  // namespace ptbench
