#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/size.h"
#include "src/measure/record.h"

namespace ptbench {

/// Half width of the interval of a throughput that can be relied on, at most, as a share: changes
/// that are smaller than a comparison looks for by default.
inline constexpr double kMostReliableNoise = 0.05;

/// Whether one may rely on a run's throughput, and why not.
enum class Trust : std::uint8_t {
  reliable,
  too_noisy,       ///< half the width of its interval is over `kMostReliableNoise`
  few_clean,       ///< fewer than `kLeastRepetitions` clean repetitions in one placement
  one_repetition,  ///< one process measured, which tells nothing of others
  not_measured,    ///< there is no throughput
};

/// How far a run's throughput can be relied on.
struct Reliability {
  Trust trust = Trust::not_measured;
  /// How far the ends of the throughput's 95 % interval, across the repetitions that speak for it,
  /// lie from it, as shares of it; empty where there is no interval.
  std::optional<Interval> deviation = std::nullopt;
  Size clean = 0;        ///< repetitions that are clean, in the placement that speaks for the run
  Size unknown = 0;      ///< of which it is not known whether something disturbed them
  Size repetitions = 0;  ///< all, clean or not

  [[nodiscard]] bool is_reliable() const { return trust == Trust::reliable; }
  /// Whether repetitions tell the throughput, however well: then it can be compared with others'.
  [[nodiscard]] bool can_be_compared() const {
    return trust == Trust::reliable || trust == Trust::too_noisy;
  }
};

/// The one rule by which a run is called reliable, wherever that is shown, in words or by marks: at
/// least `kLeastRepetitions` repetitions were clean in one placement, and half the width of the
/// 95 % interval across them is at most `kMostReliableNoise` of the throughput. A function of the
/// record alone; a run that failed or was skipped is `not_measured`.
[[nodiscard]] Reliability reliability_of(const RunRecord& run);

/// Whether the run ended well enough to have a throughput, and has one.
[[nodiscard]] bool has_throughput(const RunRecord& run);

/// Whether one may rely on a ratio of the run and of what it is held against; null: that is not
/// known, and the run alone decides.
[[nodiscard]] bool is_ratio_reliable(const RunRecord& run, const RunRecord* other);

/// "4 of 5 repetitions clean", "0 of 5 repetitions clean, 5 unknown".
[[nodiscard]] std::string clean_repetitions_of(const Reliability& reliability);

/// "reliable to ± 0.9 %", "not reliable: 0 of 5 repetitions clean", "not reliable: ± 14 %, 4 of 5
/// repetitions clean", "not reliable: -46 % to +85 %, 4 of 5 …", "not reliable: 0 of 5 repetitions
/// clean, 5 unknown"; empty for `not_measured`.
[[nodiscard]] std::string text_of(const Reliability& reliability);

}  // namespace ptbench
