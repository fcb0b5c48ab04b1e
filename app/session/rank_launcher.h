#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"
#include "src/process/child_process.h"

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

/// What other processes may call `program`; "/proc/self/exe" keeps the name of this program while
/// its file is the same.
[[nodiscard]] std::string name_for_others(const std::filesystem::path& program);

/// Starts `program` with `arguments`, and with what tells it that it is launched, as so many ranks:
/// a process group, since shells pass no signals on.
[[nodiscard]] ChildCommand launch(const RankLauncher& launcher,
                                  const std::filesystem::path& program,
                                  std::vector<std::string> arguments);

/// What a launched rank was refused, for the process that launched it: launchers end with codes of
/// their own. `output` is where the rank's result would be; nothing happens on a host that has no
/// such folder, where nobody would look.
void leave_refusal(const std::filesystem::path& output, const Error& refusal);
/// What such a rank was refused, read and removed; empty where there is none.
[[nodiscard]] std::optional<Error> take_refusal(const std::filesystem::path& output);

/// Asks this process to end (SIGTERM) once its parent or `starter` is gone, and ends it half a
/// minute later. From a thread of its own.
class LauncherWatch {
 public:
  /// `starter`: the launcher, or the ptbench that had it start this process; another host's is not
  /// watched, even where a process here has its number.
  explicit LauncherWatch(int starter);
  ~LauncherWatch();
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ptbench
