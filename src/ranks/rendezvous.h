#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"
#include "src/comm/shared_region.h"
#include "src/process/descriptor.h"
#include "src/ranks/meeting_address.h"
#include "src/ranks/rank_card.h"

namespace ptbench {

/// Where the ranks of one job on one host meet: an abstract Unix socket whose name follows from the
/// user and the job's key, so that no file is left behind. Rank 0 listens; the others come, say who
/// they are, and get the descriptor of the shared memory once all are there. Every wait ends.
struct MeetingPoint {
  std::string job;    ///< RankCard::job
  std::string place;  ///< the same as its user knows it: "PTBENCH_ADDR localhost:29500"
  std::chrono::milliseconds timeout{};  ///< for a rank that has not come
  MeetingAddress address{};             ///< that `job` comes from, if any
};

/// The abstract name of the socket where the ranks of `job` meet.
[[nodiscard]] std::string socket_name(std::string_view job);

/// The connection to another rank. It stays open as long as either works.
struct PeerLink {
  Size rank = 0;
  Descriptor socket;
  int process = 0;  ///< at the other end; 0 where it has no number in this PID namespace
};

/// What a rank keeps of the meeting, for PeerWatch.
struct PeerLinks {
  Size rank = 0;  ///< this one
  std::string host;
  std::vector<PeerLink> peers;  ///< on rank 0: all others; else rank 0
  Descriptor listener;          ///< of rank 0: for those who come too late
};

/// Rank 0's side of a meeting.
class RankGathering {
 public:
  /// Listens. Throws a usage error where another job does so already.
  RankGathering(RankCard own, MeetingPoint point);
  ~RankGathering();
  RankGathering(const RankGathering&) = delete;
  RankGathering& operator=(const RankGathering&) = delete;

  /// Waits for all ranks. A rank that does not belong to them, is missing or ends meanwhile is an
  /// error, which those who have come are told too.
  void gather();
  /// Rank 0's share of the cores, once all are there.
  [[nodiscard]] CoreShare cores() const;
  /// By rank, each once.
  [[nodiscard]] const std::vector<Size>& local_ranks() const;
  /// Gives the memory to all.
  [[nodiscard]] PeerLinks admit(const SharedRegion& region);
  /// Sends all home.
  void refuse(const Error& error) noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// What another rank gets of a meeting.
struct Admission {
  SharedRegion region;
  CoreShare cores;
  std::vector<Size> local_ranks;  ///< by rank
  PeerLinks links;
};

/// The other ranks' side: waits for rank 0, and then for its answer. Throws what rank 0 refused
/// this rank for.
[[nodiscard]] Admission join_ranks(const RankCard& own, const MeetingPoint& point);

}  // namespace ptbench
