#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/support/skip.h"

namespace {

constexpr int kFailed = 1;
constexpr int kSkipped = 77;  // what ctest's SKIP_RETURN_CODE is set to

}  // namespace

/// Ends with 0 where everything passed, 1 where anything failed (Catch2's own count of failures
/// could come to 77), 77 where nothing failed and something was skipped.
int main(int argc, char** argv) {
  Catch::Session session;
  if (session.applyCommandLine(argc, argv) != 0) return kFailed;
  // A name that matches no test is a failure, not a pass; Catch2 3 needs not be told.
#if CATCH_VERSION_MAJOR == 2
  auto& warnings = session.configData().warnings;
  warnings = static_cast<Catch::WarnAbout::What>(warnings | Catch::WarnAbout::NoTests);
#endif

  if (session.run() != 0) return kFailed;
  for (const ptbench::testing::Skip& skip : ptbench::testing::skips())
    std::fprintf(stderr, "skipped: %s: %s\n", skip.test.c_str(), skip.reason.c_str());
  return ptbench::testing::skips().empty() ? 0 : kSkipped;
}
