#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "src/base/error.h"

namespace ptbench::testing {

/// The message and the remedy of the usage error that `call` must end in.
template <class Call>
[[nodiscard]] std::string refusal_of(const Call& call) {
  try {
    (void)call();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return std::string(error.what()) + "\n" + error.remedy();
  }
  FAIL("nothing was refused");
  return {};
}

[[nodiscard]] inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ptbench::testing
