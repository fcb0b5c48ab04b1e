#include "app/programs/program_verification.h"

#include <catch2/catch.hpp>
#include <string>

#include "src/base/error.h"

namespace ptbench {
namespace {

using Catch::Contains;

std::string comparison(const std::string& status, const std::string& error, double cosine = 1) {
  return R"({"verification": ")" + status + R"(", "max_relative_error": )" + error +
         R"(, "tolerance": 1e-5, "update_length": 1.0, "update_cosine": )" +
         std::to_string(cosine) + R"(, "steps": [{}, {}, {}]})";
}

}  // namespace

TEST_CASE("what a comparison of single steps says is recorded", "[programs]") {
  const VerificationRecord passed = read_verification(comparison("passed", "2e-7"));
  CHECK(passed.status == VerificationStatus::passed);
  CHECK(passed.steps == 3);
  CHECK(passed.max_relative_error == 2e-7);
  CHECK(passed.tolerance == 1e-5);
  CHECK_FALSE(passed.reason);
}

TEST_CASE("a comparison that failed says what differs", "[programs]") {
  const auto reason = [](const std::string& line) {
    const VerificationRecord failed = read_verification(line);
    CHECK(failed.status == VerificationStatus::failed);
    return failed.reason.value();
  };
  CHECK_THAT(reason(comparison("failed", "0.25")), Contains("losses") && Contains("0.25"));
  CHECK_THAT(reason(comparison("failed", "null")), Contains("losses") && Contains("no number"));
  CHECK_THAT(reason(comparison("failed", "2e-7", 0.5)), Contains("update") && Contains("0.5"));
}

TEST_CASE("what is no comparison is told", "[programs]") {
  for (const char* const line :
       {"", "passed", "[]", "{}", R"({"verification": "passed"})",
        R"({"verification": "well", "steps": []})", R"({"verification": 1, "steps": []})",
        R"({"verification": "passed", "steps": 4})"}) {
    CAPTURE(line);
    CHECK_THROWS_WITH(read_verification(line), Contains("which is not a result"));
  }
}

}  // namespace ptbench
