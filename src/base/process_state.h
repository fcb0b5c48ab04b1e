#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace ptbench {

/// What a process or a thread is doing, as the kernel shows it in its file `stat`
/// (proc_pid_stat(5)).
struct ProcessState {
  char letter = '?';            ///< the kernel's, '?': not known
  std::uint64_t cpu_ticks = 0;  ///< in user and system mode

  [[nodiscard]] bool is_known() const { return letter != '?'; }
  /// It runs, or would if it had a core.
  [[nodiscard]] bool is_running() const { return letter == 'R'; }
  [[nodiscard]] bool waits_for_disk() const { return letter == 'D'; }
  [[nodiscard]] bool is_stopped() const { return letter == 'T'; }
};

/// Of the process or thread whose folder that is, as "/proc/PID" or "/proc/self/task/TID".
[[nodiscard]] ProcessState state_in(const std::filesystem::path& folder);
[[nodiscard]] ProcessState process_state(int id);
/// Of this process, whose CPU time is without the calling thread's: who watches is not what works.
[[nodiscard]] ProcessState state_beside_this_thread();
/// Whether a signal that interrupts was sent to the process and not taken yet.
[[nodiscard]] bool has_interruption_pending(int id);
/// False where /proc is that of another PID namespace, which has other processes under the same
/// numbers.
[[nodiscard]] bool can_see_processes();

/// The nearest ancestor of this process that was started without `variable` in its environment, or
/// whose environment cannot be read: who set it, where those between only passed it on.
[[nodiscard]] int nearest_ancestor_without(std::string_view variable);

/// Whether that process started this one, or who did, and so on.
[[nodiscard]] bool is_ancestor(int id);
/// Whether it has this process's name in the kernel's lists (`comm` of proc(5)).
[[nodiscard]] bool has_own_name(int id);

/// CPU time is counted in these, on every Linux.
inline constexpr std::uint64_t kTicksPerSecond = 100;

}  // namespace ptbench
