#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/judge/ranking.h"
#include "src/measure/record.h"

namespace ptbench {

// What conclusions and pages call runs and their figures.

/// The name of `run`, one of the ranking, among `names`, which are in the order of its runs.
[[nodiscard]] const std::string& name_in(const Ranking& ranking, std::span<const std::string> names,
                                         const RunRecord* run);
/// The names of the fastest run's rivals, at least one: "ddp on 2 ranks and 2 more".
[[nodiscard]] std::string rivals_text(const Ranking& ranking, std::span<const std::string> names);

/// With a capital at its beginning, if that is a letter of ASCII.
[[nodiscard]] std::string with_capital(std::string text);

/// "17.0 k samples/s"; `run` has a throughput, as below.
[[nodiscard]] std::string speed_text(const RunRecord& run);
/// "17.0 k samples/s ± 7.5 %".
[[nodiscard]] std::string throughput_words(const RunRecord& run);

/// How names are written.
struct NameStyle {
  std::optional<Size> cores = std::nullopt;  ///< of the machine; empty: not known
  /// What a strategy or an id becomes where it is not "serial"; null: itself.
  std::string (*quoted)(std::string_view name) = nullptr;
};

/// A short name for each run, no two alike: "ddp on 2 ranks", "serial on both cores", with
/// precision, batch, threads and engine where these tell runs apart, or the id.
[[nodiscard]] std::vector<std::string> names_of(std::span<const RunRecord* const> runs,
                                                const NameStyle& style = {});

/// Which run is the fastest.
struct FastestText {
  std::string sentence;  ///< "ddp on 2 ranks is the fastest of 3 runs: …", or why none is
  std::string beside;    ///< that another run measured more, but cannot be relied on; may be empty
};

/// `names`: of the runs of the ranking, in their order, of which there is one at least.
/// `names_next`: whether to say how much slower the next is.
[[nodiscard]] FastestText fastest_text(const Ranking& ranking, std::span<const std::string> names,
                                       bool names_next = true);

}  // namespace ptbench
