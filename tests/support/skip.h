#pragma once

#include <string>
#include <vector>

namespace ptbench::testing {

/// Ends the current test as skipped; Catch2 2 has no means of its own. For capabilities that a
/// probe found absent, never because something threw. What failed before it stays failed. Only on
/// the test's own thread.
[[noreturn]] void skip(const std::string& reason);

/// Skips the current test where this CPU does not multiply bf16.
void require_bf16();

struct Skip {
  std::string test;
  std::string reason;
};

/// The skips of this process so far.
[[nodiscard]] const std::vector<Skip>& skips();

}  // namespace ptbench::testing
