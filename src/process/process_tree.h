#pragma once

#include <optional>
#include <span>
#include <vector>

#include "src/base/size.h"

namespace ptbench {

// The processes that descend from this one, as /proc shows them. Who sees no /proc has none.

/// From now on, descendants that lose their parent become children of this process, whatever
/// session they are in (PR_SET_CHILD_SUBREAPER): none can leave the tree while this one lives.
void adopt_orphans();

/// Reaps children that have ended, adopted ones, but not `child`, which its owner waits for.
void reap_orphans(int child);

/// All that descend from this process, but those that have ended.
[[nodiscard]] std::vector<int> descendants();

/// CPU time that they and the children that they waited for have used.
[[nodiscard]] double cpu_seconds_of(std::span<const int> processes);

/// Whether none of their threads runs or waits for a disk.
[[nodiscard]] bool are_asleep(std::span<const int> processes);

/// Memory of several processes.
struct TreeMemory {
  Bytes resident = 0;  ///< now, what they share counted once
  Bytes peak = 0;  ///< each one's largest size, less what is shared now and counted more than once
};
/// Empty where the kernel does not tell.
[[nodiscard]] std::optional<TreeMemory> memory_of(std::span<const int> processes);
/// The largest that one process has been.
[[nodiscard]] std::optional<Bytes> peak_memory_of(int process);
/// Lets peaks begin anew at the present sizes, where the kernel lets it.
void reset_peak_memory(std::span<const int> processes);

/// Which descendants are meant.
enum class TreePart {
  whole,
  left_behind,  ///< children in another session than this process's, with all that descends of them
};
/// Kills and reaps them until none is left, for some seconds at the most; `spared` ones stay where
/// they are or become children of this process, with all that descends of them.
void end_descendants(TreePart part = TreePart::whole, std::span<const int> spared = {});

}  // namespace ptbench
