#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/error.h"
#include "src/base/size.h"
#include "src/ranks/rank_source.h"

/// The launchers that ptbench knows, by the variables that they set; for rank_source.cpp.
namespace ptbench {

/// The environment, read strictly.
class Variables {
 public:
  /// `clues` outlive it.
  explicit Variables(const RankClues& clues) : clues_(clues) {}

  /// An empty one is as good as none.
  [[nodiscard]] std::optional<std::string> text(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const { return text(name).has_value(); }
  /// Empty also where it is no whole number.
  [[nodiscard]] std::optional<std::uint64_t> number(const std::string& name) const;
  /// In [least, most], or a usage error; empty where it is not set.
  [[nodiscard]] std::optional<Size> count(const std::string& name, std::uint64_t least,
                                          std::uint64_t most) const;

 private:
  const RankClues& clues_;
};

/// The variables with which one kind of launcher tells a process its place.
struct Launcher {
  RankSource source;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_ranks;  ///< null: not told
  const char* mark;         ///< that nobody sets by hand; null: there is no launcher
  const char* hosts;        ///< how many there are; null: not told
};

/// In the order in which they are asked.
[[nodiscard]] std::span<const Launcher> launchers();

/// Whether this launcher started this process, or may have meant to.
[[nodiscard]] bool speaks(const Launcher& launcher, const Variables& variables);

/// The variable that counts the ranks of the same step as the rest: an allocation may have more.
[[nodiscard]] std::string world_size_variable(const Launcher& launcher, const Variables& variables);

/// What names the job, as its launcher says; empty where the launcher names none.
[[nodiscard]] std::optional<std::string> job_named_by(RankSource source,
                                                      const Variables& variables);

/// "FOO_RANK" and "FOO_SIZE", which say that this process is one of several.
struct ClaimedRank {
  std::string rank;
  std::string world_size;
  Size number = 0;  ///< value of `rank`
  Size ranks = 0;   ///< value of `world_size`, at least 2
};

/// A pair of variables that says that this process is one of more than `used` ranks, of a launcher
/// that ptbench knows or of one that it does not: any whose names differ in `RANK` and `SIZE`
/// alone, or in words that mean the same. Empty where there is none. Slurm's count only where
/// `source` is single: beside another launcher they may describe the step of its daemons.
[[nodiscard]] std::optional<ClaimedRank> find_more_ranks(const RankClues& clues, RankSource source,
                                                         Size used);

/// `given` is set and `missing` is not.
[[nodiscard]] Error missing_beside(std::string_view missing, std::string_view given);

}  // namespace ptbench
