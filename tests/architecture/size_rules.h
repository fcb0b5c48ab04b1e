#pragma once

#include <span>
#include <vector>

#include "tests/architecture/include_rules.h"

namespace ptbench::architecture {

/// Code outside of tests that has grown beyond one subject: files of 400 lines or more.
[[nodiscard]] std::vector<Finding> check_lengths(std::span<const SourceFile> files);

/// Rooms that hold more than 12 % of the lines of all rooms, and should be cut along their
/// subjects; but for the kernels, which are one subject with many backends. Tests and benchmark
/// programs are no part of the house.
[[nodiscard]] std::vector<Finding> check_room_sizes(std::span<const SourceFile> files);

}  // namespace ptbench::architecture
