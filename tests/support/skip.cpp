#include "tests/support/skip.h"

#include <catch2/catch.hpp>

#include "src/device/isa.h"

namespace ptbench::testing {
namespace {

std::vector<Skip>& recorded() {
  static std::vector<Skip> skips;
  return skips;
}

}  // namespace

void skip(const std::string& reason) {
  recorded().push_back({Catch::getResultCapture().getCurrentTestName(), reason});
  // Catch2 ends a test with this one without counting a failure: the failed REQUIRE that usually
  // throws it was counted before.
  throw Catch::TestFailureException{};
}

void require_bf16() {
  if (!has_bf16_products()) skip("this CPU does not multiply bf16");
}

const std::vector<Skip>& skips() { return recorded(); }

}  // namespace ptbench::testing
