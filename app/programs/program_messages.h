#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

// What a user's program and ptbench say to each other: docs/steps_protocol.md. Times are
// nanoseconds of CLOCK_MONOTONIC.

inline constexpr std::size_t kMostStepsPerMessage = 1024;
inline constexpr std::size_t kMostPhasesPerStep = 64;
inline constexpr Size kMostProgramRanks = 4096;
/// Larger times and numbers of steps are none.
inline constexpr std::int64_t kMostProgramNumber = std::int64_t{1} << 62U;

/// Names of phases that are taken, as `phases_seconds` of a record calls them.
inline constexpr std::array<std::string_view, 10> kProgramPhases{
    "data",     "scatter",       "replicate",
    "forward",  "gather",        "backward",
    "reduce",   "communication", "communication_exposed",
    "optimizer"};

/// A process that trains introduces itself.
struct ProgramHello {
  Size rank = 0;
  Size world_size = 1;
  Size samples = 1;            ///< that it trains on in one step
  std::optional<Size> tokens;  ///< in one step
  std::optional<std::string> device;
  std::optional<std::string> framework;  ///< "pytorch 2.5.1"
  std::optional<std::string> precision;
};

struct ProgramStep {
  std::int64_t number = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct ProgramLoss {
  std::int64_t number = 0;
  std::optional<double> loss;  ///< empty: it is not finite
};

struct ProgramSpan {
  std::int64_t number = 0;
  std::size_t phase = 0;  ///< index into kProgramPhases
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Steps that a process has done: 1 to kMostStepsPerMessage, in the order in which they came.
struct ProgramReport {
  std::vector<ProgramStep> steps;
  std::vector<ProgramLoss> losses;
  std::vector<ProgramSpan> spans;
};

/// Anything else that may be said: it is skipped.
struct ProgramAside {};

using ProgramMessage = std::variant<ProgramAside, ProgramHello, ProgramReport>;

/// Reads what a program sent. Each number is within its range, and no more than that is checked.
/// Throws a run error that says what is wrong with it.
[[nodiscard]] ProgramMessage parse_program_message(std::string_view text);

/// The process may do its steps up to `step`; of those that this adds phases are wanted, or not.
[[nodiscard]] std::string grant_message(std::int64_t step, bool phases);
/// Why ptbench ends what it measures.
[[nodiscard]] std::string refusal_message(std::string_view why);

/// The breach of the protocol by a program.
[[nodiscard]] std::string breach_text(std::string_view what);

}  // namespace ptbench
