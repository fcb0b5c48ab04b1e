#include "src/measure/time_span.h"

#include <catch2/catch.hpp>
#include <vector>

namespace ptbench::testing {
namespace {

TEST_CASE("time that several spans cover counts once", "[measure]") {
  struct Case {
    std::vector<TimeSpan> spans;
    double covered;
  };
  for (auto& [spans, covered] :
       std::vector<Case>{{{}, 0},
                         {{{1, 3}}, 2},
                         {{{5, 6}, {1, 3}}, 3},          // apart, in any order
                         {{{1, 3}, {3, 4}}, 3},          // one after the other
                         {{{2, 5}, {1, 3}}, 4},          // over the other's end
                         {{{1, 9}, {2, 3}, {4, 5}}, 8},  // within another
                         {{{1, 2}, {1, 4}, {1, 1}}, 3},  // from one moment on
                         {{{3, 2}}, 0}})                 // by clocks that are coarse
    CHECK(seconds_covered(spans) == covered);
}

}  // namespace
}  // namespace ptbench::testing
