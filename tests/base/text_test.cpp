#include "src/base/text.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("well-formed UTF-8 passes unchanged", "[measure]") {
  const std::string text = "plain, \u00e4\u00b5, \u20ac, \U0001F680, \u07ff\u0800\uffff\U0010ffff";
  CHECK(valid_utf8(text) == text);
  CHECK(single_line(text) == text);
  CHECK(valid_utf8("").empty());
}

TEST_CASE("each byte that is not UTF-8 is replaced", "[measure]") {
  const std::string mark = "\uFFFD";
  CHECK(valid_utf8("a\xFFz") == "a" + mark + "z");
  CHECK(valid_utf8("\xE9t\xE9") == mark + "t" + mark);                 // latin-1
  CHECK(valid_utf8("\xE2\x82") == mark + mark);                        // cut off
  CHECK(valid_utf8("\xC0\xAF") == mark + mark);                        // overlong
  CHECK(valid_utf8("\xE0\x80\x80") == mark + mark + mark);             // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == mark + mark + mark);             // surrogate
  CHECK(valid_utf8("\xF4\x90\x80\x80") == mark + mark + mark + mark);  // beyond U+10FFFF
  CHECK(valid_utf8("\x80") == mark);
}

TEST_CASE("no control character survives on a single line", "[measure]") {
  CHECK(single_line("a\nb\tc\r") == "a\\x0ab\\x09c\\x0d");
  CHECK(single_line(std::string("\0", 1)) == "\\x00");
  CHECK(single_line("\x1b[31m\x7f") == "\\x1b[31m\\x7f");
  CHECK(single_line("\u009b2J") == "\\x9b2J");  // C1's CSI
  CHECK(single_line("\u00a0") == "\u00a0");     // the first that is none
  CHECK(single_line("\x9b") == "\uFFFD");
}

TEST_CASE("a command line is quoted where a shell would read something else") {
  CHECK(shell_line({"ptbench", "run", "-w", "mlp", "--data=a/b", "1,2"}) ==
        "ptbench run -w mlp --data=a/b 1,2");
  CHECK(shell_line({"mpirun -n {n}", "it's", "", "a\nb"}) ==
        R"('mpirun -n {n}' 'it'\''s' '' 'a\x0ab')");
  CHECK(shell_line({}).empty());
}

}  // namespace ptbench
