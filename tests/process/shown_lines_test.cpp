#include "src/process/shown_lines.h"

#include <catch2/catch.hpp>

namespace ptbench {

TEST_CASE("a line that several processes print is shown once") {
  ShownLines shown;
  const Size first = shown.add_process();
  const Size second = shown.add_process();
  const std::string warning = "[program] No CUDA runtime is found, using CUDA_HOME='/usr'";
  CHECK(shown.is_new(warning, first));
  CHECK_FALSE(shown.is_new(warning, second));
  CHECK(shown.is_new(warning, first));  // a process may repeat itself
  CHECK(shown.is_new("[program] epoch 1", second));
}

TEST_CASE("the time of a logger does not make another line") {
  CHECK(without_log_time("[program] [W1128 13:11:03.123456789 NNPACK.cpp:61] Could not") ==
        "[program] [W NNPACK.cpp:61] Could not");
  CHECK(without_log_time("W1128 13:11:03.123000 12345 torch/run.py:792] text") ==
        "W torch/run.py:792] text");
  for (const char* const other :
       {"", "Warning: it is slow", "WARNING 1128 13", "loss I1128", "W1128", "W1128 13:11:03.1",
        "I12 13:11:03 x", "step 1128 13:11:03 x"})
    CHECK(without_log_time(other) == other);
  ShownLines shown;
  const Size first = shown.add_process();
  CHECK(shown.is_new("W1128 13:11:03.123000 12345 torch/run.py:792] text", first));
  CHECK_FALSE(
      shown.is_new("W1128 13:11:09.456000 12399 torch/run.py:792] text", shown.add_process()));
}

}  // namespace ptbench
