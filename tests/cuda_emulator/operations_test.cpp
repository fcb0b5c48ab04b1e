// Every PTX instruction that the translator knows, on values at the edges of its types.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/program.h"

namespace ptbench::testing {
namespace {

void check_table(const std::string& table) {
  const ProgramResult result =
      run_program({PTBENCH_SOURCE_DIR "/scripts/emulate-gpu", "--module",
                   PTBENCH_EMULATOR_OPERATIONS, PTBENCH_EMULATOR_OPERATIONS, table});
  INFO(result.output << result.errors);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::EndsWith(" instructions, 0 wrong\n"));
}

}  // namespace

TEST_CASE("integer arithmetic is that of PTX") { check_table("integer"); }
TEST_CASE("operations on bits are those of PTX") { check_table("bit"); }
TEST_CASE("arithmetic in f32 and f64 is that of PTX") { check_table("single"); }
TEST_CASE("arithmetic in f16 and bf16 is that of PTX") { check_table("half"); }
TEST_CASE("comparisons and choices are those of PTX") { check_table("compare"); }
TEST_CASE("conversions are those of PTX") { check_table("convert"); }

}  // namespace ptbench::testing
