#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/base/error.h"

namespace ptbench::fuzz {

inline void require(bool holds, const char* what, const Error& error) {
  if (holds) return;
  std::fprintf(stderr, "%s: '%s', remedy '%s'\n", what, error.what(), error.remedy().c_str());
  std::abort();
}

/// Calls `parse`, which may succeed or throw a usage error with a remedy, in one line that is fit
/// for a terminal. Every other exception is left to the fuzzer, for which it is a crash.
template <class Parse>
void expect_usage_error_at_most(Parse parse) {
  try {
    parse();
  } catch (const Error& error) {
    const std::string text = error.what() + error.remedy();
    const bool plain =
        std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
    require(error.code() == ExitCode::usage, "not a usage error", error);
    require(!error.remedy().empty(), "an error without a remedy", error);
    require(plain, "an error with control characters", error);
  }
}

}  // namespace ptbench::fuzz
