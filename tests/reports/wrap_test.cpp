#include "reports/wrap.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("text is broken at spaces", "[reports]") {
  CHECK(wrapped("one two three four", 0, 10) == "one two\nthree four");
  CHECK(wrapped("one two three four", 2, 12) == "one two\n  three four");
  CHECK(wrapped("exactly ten", 0, 11) == "exactly ten");
  CHECK(wrapped("", 4, 20).empty());
}

TEST_CASE("words that are too long are cut", "[reports]") {
  CHECK(wrapped("abcdefghijklmno", 0, 10) == "abcdefghij\nklmno");
  CHECK(wrapped("ab cdefghijklmnop", 0, 10) == "ab\ncdefghijkl\nmnop");
}

TEST_CASE("code points count, not bytes, and are never cut", "[reports]") {
  CHECK(code_points("\u00b5s \u20ac") == 4);
  CHECK(wrapped("\u00b5\u00b5\u00b5\u00b5\u00b5 \u00b5\u00b5\u00b5\u00b5\u00b5", 0, 11) ==
        "\u00b5\u00b5\u00b5\u00b5\u00b5 \u00b5\u00b5\u00b5\u00b5\u00b5");
  CHECK(wrapped("\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac", 0, 10) ==
        "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\n\u20ac");
}

TEST_CASE("an indent wider than the line leaves room for some words", "[reports]") {
  CHECK(wrapped("one two three", 50, 20) == "one two\n" + std::string(50, ' ') + "three");
}

}  // namespace ptbench
