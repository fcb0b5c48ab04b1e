#include "tests/support/skip.h"

#include <catch2/catch.hpp>

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

const std::vector<Skip>& skips() { return recorded(); }

}  // namespace ptbench::testing
