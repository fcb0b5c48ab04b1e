#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/ranks/host_choice.h"

namespace ptbench {

/// One program, started as one process a rank on several hosts.
struct HostProcesses {
  HostChoice hosts;                  ///< with one host at least
  std::vector<std::string> command;  ///< the program, found as each host's shell finds it
  /// Asked now and then; true asks rank 0 to end (SIGTERM), which has a minute.
  std::function<bool()> interrupted;
};

/// Throws a usage error where the first of `hosts` is not this one, or is one that the others
/// cannot reach by its name.
void require_meeting_place(const std::vector<HostSlots>& hosts);

/// Runs the processes to their end, and returns rank 0's exit code. Each knows its place by
/// PTBENCH_RANK and its like, where all meet (a port of this host that is free), and a token that
/// no stranger has: by standard input, so that no list of processes shows it. What they write to
/// standard output and error goes to this process's. They work in this process's folder, where the
/// host has one of its name. One shell a host starts its ranks.
///
/// Once rank 0 has ended the others have half a minute to end too, or a few seconds where it
/// failed; then they are asked to (SIGTERM), and killed a minute later. So they are where this
/// process is killed, and rank 0 is asked to end.
///
/// Throws as require_meeting_place does, and a run error that names rank and host where one failed
/// for which rank 0 would wait.
[[nodiscard]] int run_on_hosts(const HostProcesses& processes);

}  // namespace ptbench
