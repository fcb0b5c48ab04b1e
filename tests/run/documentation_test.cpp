#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/support/program.h"

namespace ptbench::testing {
namespace {

TEST_CASE("the documented options are the program's", "[run]") {
  const ProgramResult printed = run_program({PTBENCH_EXECUTABLE, "list", "options", "--markdown"});
  REQUIRE(printed.exit_code == 0);
  std::ifstream file(PTBENCH_SOURCE_DIR "/docs/options.md");
  std::ostringstream documented;
  documented << file.rdbuf();
  CHECK_THAT(documented.str(), Catch::EndsWith(printed.output));
}

}  // namespace
}  // namespace ptbench::testing
