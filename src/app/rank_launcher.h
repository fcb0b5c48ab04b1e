#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/size.h"
#include "src/comm/child_process.h"

namespace ptbench {

/// How a sweep starts ranks that are not to be started by ptbench itself.
struct RankLauncher {
  std::string command;  ///< of the shell, such as "mpirun -n 2"; a program and its arguments follow
  Size ranks = 1;       ///< that it starts
};

/// What --launcher calls the number of ranks.
inline constexpr std::string_view kRanksMark = "{n}";

/// `text` with the number of ranks in each place where it says {n}.
[[nodiscard]] RankLauncher launcher_of(std::string_view text, Size ranks);

/// Starts `program` with `arguments` as so many ranks. The shell becomes the launcher, which so
/// gets the signals that are meant for it.
[[nodiscard]] ChildCommand launch(const RankLauncher& launcher,
                                  const std::filesystem::path& program,
                                  std::vector<std::string> arguments);

}  // namespace ptbench
