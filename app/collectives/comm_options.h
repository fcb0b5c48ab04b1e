#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/collectives/comm_bench.h"
#include "src/base/option_table.h"

namespace ptbench {

/// What `ptbench comm` was told.
struct CommOptions {
  std::optional<Size> nproc;  ///< empty: as many as cores, at least 2
  std::vector<std::string> collectives{"all_reduce"};
  std::vector<Bytes> sizes;     ///< empty: 4 B to 64 MiB
  std::optional<Bytes> least;   ///< of sizes from here
  std::optional<Bytes> most;    ///< to here
  std::optional<Size> factor;   ///< each so many times the one before
  std::optional<Size> calls;    ///< that are timed at each size
  std::optional<Size> warm_up;  ///< calls before these
  std::string device = "auto";  ///< "cpu", or GPUs as run has them
  std::vector<std::string> communicators{"auto"};
  std::string interface;  ///< of the network, for engines; empty: loopback
  double timeout_seconds = 60;
  std::vector<std::string> outputs;  ///< files to write, by extension
  bool json = false;
  // The place of a process that was started as one of the ranks.
  std::optional<int> region;  ///< descriptor
  Size rank = 0;
  std::optional<int> cpu;  ///< that it is pinned to
};

[[nodiscard]] OptionTable<CommOptions> comm_option_table();

/// With defaults filled in.
[[nodiscard]] CommPlan plan_of(const CommOptions& options);

}  // namespace ptbench
