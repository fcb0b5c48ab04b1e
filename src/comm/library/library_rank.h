#pragma once

#include <sched.h>

#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/library/group_library.h"
#include "src/comm/library/surrender_watch.h"
#include "src/comm/shm/shared_region.h"

namespace ptbench {

/// What all communicators of one rank have in common. Libraries of groups that have ended live as
/// long as it does, so that nobody cuts what is still on its way to others.
struct LibraryRank {
  LibraryRank(std::string engine, SharedRegion memory, Size own, Communicator::Timeout longest,
              std::unique_ptr<Communicator> words, GroupLibraryMaker maker);
  /// Waits for the others, where all go on.
  ~LibraryRank();
  LibraryRank(const LibraryRank&) = delete;
  LibraryRank& operator=(const LibraryRank&) = delete;

  const std::string name;  ///< of the engine, as on the command line
  const SharedRegion region;
  const Size rank;  ///< of the region, and of the world
  const Communicator::Timeout timeout;
  const std::unique_ptr<Communicator> host;
  const GroupLibraryMaker make;
  const cpu_set_t cpus;  ///< of its own threads: those of the thread that makes it
  std::vector<std::unique_ptr<GroupLibrary>> ended;
  SurrenderWatch watch;
  bool is_failed = false;
};

}  // namespace ptbench
