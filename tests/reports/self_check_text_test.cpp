#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "reports/comparison_text.h"

namespace ptbench {
namespace {

using Catch::Contains;

constexpr double kNone = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a change that no comparison finds is no figure", "[reports]") {
  const std::vector<SelfCheck> checks{{.id = "run",
                                       .placement = "near",
                                       .repetitions = 3,
                                       .standard_deviation = 0.31,
                                       .unusual = true,
                                       .resolvable_with_3 = kNone,
                                       .resolvable_with_5 = kNone,
                                       .resolvable_with_10 = kNone}};
  const std::string text = self_check_console(checks, {});
  CHECK_THAT(text, Contains("31.0 %             -         -         -          -  run\n"
                            "  unusual: not learnt, and such runs compare as ambiguous"));
  const auto check = nlohmann::json::parse(self_check_json(checks)).at("checks").at(0);
  CHECK(check.at("resolvable_with_3").is_null());
  CHECK(check.at("resolvable_with_10").is_null());
}

}  // namespace ptbench
