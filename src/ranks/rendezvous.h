#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/size.h"
#include "src/comm/shm/shared_region.h"
#include "src/process/descriptor.h"
#include "src/ranks/meeting_address.h"
#include "src/ranks/rank_card.h"

namespace ptbench {

/// What is known of where ranks are before they have met.
enum class HostsOfRanks : std::uint8_t {
  one,      ///< on one host, or else they are refused
  any,      ///< nobody knows
  several,  ///< on several
};

/// What to do where ranks are on several hosts, and cannot be.
inline constexpr std::string_view kRemedyForHosts =
    "train on CPUs with --communicator gloo or mpi, or start all ranks on one host; where they "
    "are, set PTBENCH_HOST_ID to one name for all";

/// Where the ranks of one job meet: on rank 0's host an abstract Unix socket whose name follows
/// from the user and the job's key, so that no file is left behind; for ranks of other hosts, where
/// they may be there, a TCP port of rank 0's address. Rank 0 listens; the others come, say who they
/// are, and get the descriptor of the shared memory once all are there, or on several hosts learn
/// where to connect. Every wait ends.
struct MeetingPoint {
  std::string job;    ///< RankCard::job
  std::string place;  ///< the same as its user knows it: "PTBENCH_ADDR localhost:29500"
  std::chrono::milliseconds timeout{};     ///< for a rank that has not come
  MeetingAddress address{};                ///< that `job` comes from, if any
  HostsOfRanks hosts = HostsOfRanks::one;  ///< other hosts need an address
  /// For tests: the loopback interface is the network between the hosts.
  bool loopback_joins_hosts = false;
};

/// The abstract name of the socket where the ranks of `job` meet.
[[nodiscard]] std::string socket_name(std::string_view job);
/// What names `job` to a rank 0 on another host, where other users' ranks come to the same port:
/// with this user's name.
[[nodiscard]] std::string job_between_hosts(std::string_view job);

/// The connection to another rank. It stays open as long as either works.
struct PeerLink {
  Size rank = 0;
  std::string host;
  int process = 0;  ///< at the other end; 0 where it has no number in this PID namespace
  Descriptor socket;
};

/// What a rank keeps of the meeting, for PeerWatch.
struct PeerLinks {
  Size rank = 0;  ///< this one
  std::string host;
  bool are_apart = false;       ///< on several hosts: each rank has a region of its own
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
  /// What rank 0 itself learns, once all are there.
  [[nodiscard]] Welcome welcome() const;
  /// Gives the memory to all, or where they are on several hosts the door. Throws a run error, and
  /// admits nobody, where there are too many hosts to tell of.
  [[nodiscard]] PeerLinks admit(const SharedRegion& region, const Door& door = {});
  /// Sends all home.
  void refuse(const Error& error) noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// What another rank gets of a meeting.
struct Admission {
  std::optional<SharedRegion> region;  ///< empty: ranks are on several hosts
  Welcome welcome;
  PeerLinks links;
};

/// The other ranks' side: waits for rank 0, and then for its answer. Throws what rank 0 refused
/// this rank for.
[[nodiscard]] Admission join_ranks(const RankCard& own, const MeetingPoint& point);

}  // namespace ptbench
