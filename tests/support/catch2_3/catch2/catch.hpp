#pragma once

// What tests use of Catch2 2 (Debian 12), over Catch2 3 (Debian 13), which has no such header: tests
// know one interface. tests/CMakeLists.txt names this folder where Catch2 3 is found.
#include <catch2/catch_all.hpp>
#include <catch2/internal/catch_test_failure_exception.hpp>
#include <string>

namespace Catch {

using Matchers::EndsWith;
using Matchers::Equals;
using Matchers::Matches;
using Matchers::StartsWith;
using TestEventListenerBase = EventListenerBase;

/// In Catch2 3, `Matchers::Contains` is about elements of ranges.
inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }

}  // namespace Catch

using Catch::Approx;
