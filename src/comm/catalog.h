#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/shared_region.h"
#include "src/device/device.h"

namespace ptbench {

struct RanksApart;

/// What a rank's communicators are made of; everything outlives them.
struct CommunicatorSetup {
  MemorySource& memory;  ///< where the arenas of a rank that is alone lie
  /// Of the ranks of this host; where ranks are on several, this rank's own, which tells of all.
  /// Null: this rank is alone.
  const SharedRegion* region = nullptr;
  Size rank = 0;
  Device* device = nullptr;  ///< whose maker calls, and whose host threads share long work
  Communicator::Timeout timeout = std::chrono::seconds(60);  ///< of waits while it is made
  std::string interface;        ///< of the network, that an engine's values travel by; empty: any
  RanksApart* apart = nullptr;  ///< where the ranks are on several hosts
};

/// What one rank has to talk to others with.
struct RankCommunicators {
  std::unique_ptr<Communicator> data;     ///< gradients, parameters, activations
  std::unique_ptr<Communicator> control;  ///< for a ControlChannel; apart from the data's order
};

/// A row of the communicator catalog.
struct CommunicatorRow {
  std::string name;              ///< as on the command line
  std::string summary;           ///< one line for `ptbench list`
  std::string needs;             ///< of the machine or the run; a few words
  bool several_ranks = false;    ///< takes worlds above one
  bool on_gpus = false;          ///< of values in the memory of CUDA devices, and no others
  std::string engine;            ///< the module that does it, which may be absent; empty: none
  bool has_leaders = false;      ///< that engine sends between the first ranks of hosts alone
  bool takes_interface = false;  ///< sends values by a network interface that can be chosen
  bool between_hosts = false;    ///< takes ranks of several hosts
  RankCommunicators (*make)(const CommunicatorSetup& setup) = nullptr;
};

/// The communicators of this build, in the order in which they are listed; which is taken where the
/// user names none comes first among those that can serve. To add one: its files and a row in
/// catalog.cpp.
[[nodiscard]] std::vector<CommunicatorRow> communicator_catalog();

/// "auto": the first row that takes so many ranks is meant.
inline constexpr std::string_view kAutomaticCommunicator = "auto";

/// What --communicator can be: "auto" and the catalog's names; `several_ranks`: of those alone that
/// take worlds above one.
[[nodiscard]] std::vector<std::string> communicator_choices(bool several_ranks);

/// Throws a capability error for a communicator whose engine module cannot be had.
void require_communicator(std::string_view name);
/// The same where it is to reach other hosts.
void require_communicator_between_hosts(std::string_view name);

/// The row of that name; of "auto" the best for a world of that many ranks, on GPUs or not. Throws
/// a defect for a name that nobody knows.
[[nodiscard]] CommunicatorRow find_communicator(std::string_view name, Size world_size,
                                                bool on_gpus = false);

/// What stands for `name` where ranks are on several hosts: "auto" is Open MPI's where it started
/// them, else gloo, by way of leaders where the ranks of each host follow each other. Empty where
/// that one takes no such ranks.
[[nodiscard]] std::optional<std::string> communicator_between_hosts(std::string_view name,
                                                                    bool from_open_mpi,
                                                                    bool can_have_leaders = true);

/// Throws a usage error where none of the communicators of these names sends anything over a
/// network interface, or this host has none such interface. Empty: none is asked for.
void require_interface_of(const std::vector<std::string>& names, std::string_view interface);

/// Throws a usage error where the communicator of that name moves no values that lie there.
void require_communicator_of(std::string_view name, bool on_gpus);

}  // namespace ptbench
