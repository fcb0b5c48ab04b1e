// How NcclCommunicator is made, of the world and of groups of it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/comm/exchange.h"
#include "src/comm/nccl/check.h"
#include "src/comm/nccl/nccl_communicator.h"
#include "src/device/cuda/check.h"

namespace ptbench::nccl {
namespace {

/// What rank 0 of the host's group says.
template <class T>
T said_by_first(Communicator& host, T own, Communicator::Timeout timeout) {
  static_assert(std::is_trivially_copyable_v<T>);
  host.wait(host.start_broadcast(std::as_writable_bytes(std::span(&own, 1)), 0), timeout);
  return own;
}

/// Where ranks share a GPU, which NCCL refuses to those of one host: has it take each for a host of
/// its own, between which values go by sockets. For tests; what the environment says already stays.
void let_ranks_share(Communicator& host, Communicator::Timeout timeout) {
  int device = 0;
  std::array<char, 32> own{};
  PTBENCH_CUDA(cudaGetDevice(&device));
  PTBENCH_CUDA(cudaDeviceGetPCIBusId(own.data(), static_cast<int>(own.size()), device));
  auto all = of_all_ranks(host, own, timeout);
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) == all.end()) return;
  const std::string id = "ptbench-" + std::to_string(host.rank());
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread of the process reads these
  setenv("NCCL_HOSTID", id.c_str(), 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  for (const char* way : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"})
    setenv(way, "1", 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

/// One with the same ranks beside it, for messages.
std::unique_ptr<NcclComm> comm_beside(NcclRank& rank, const NcclComm& first, Size place,
                                      Communicator::Timeout timeout) {
  return std::make_unique<NcclComm>(
      rank,
      [&](ncclComm_t* comm, ncclConfig_t* config) {
        config->splitShare = 1;
        return ncclCommSplit(first.handle(), 0, static_cast<int>(place), comm, config);
      },
      timeout);
}

}  // namespace

std::unique_ptr<Communicator> make_world(NcclSetup setup) {
  auto rank = std::make_shared<NcclRank>(setup.device, setup.region, setup.rank, setup.timeout);
  Communicator& host = *setup.host;
  rank->make_current();
  let_ranks_share(host, setup.timeout);
  ncclUniqueId id{};
  if (host.rank() == 0) PTBENCH_NCCL(ncclGetUniqueId(&id));
  id = said_by_first(host, id, setup.timeout);
  auto collectives = std::make_unique<NcclComm>(
      *rank,
      [&](ncclComm_t* comm, ncclConfig_t* config) {
        return ncclCommInitRankConfig(comm, static_cast<int>(host.world_size()), id,
                                      static_cast<int>(host.rank()), config);
      },
      setup.timeout);
  auto messages = comm_beside(*rank, *collectives, host.rank(), setup.timeout);
  std::vector<Size> ranks(static_cast<std::size_t>(setup.region.world_size()));
  std::iota(ranks.begin(), ranks.end(), Size{0});
  NcclCommunicator::Parts parts{.host = std::move(setup.host),
                                .ranks = std::move(ranks),
                                .collectives = std::move(collectives),
                                .messages = std::move(messages)};
  return std::make_unique<NcclCommunicator>(std::move(rank), std::move(parts));
}

/// NCCL's colours are not negative: a group's is the rank here of its first.
std::unique_ptr<Communicator> NcclCommunicator::split(Size colour, Size key, Timeout timeout) {
  if (started_ > 0) wait(Ticket{started_}, timeout);  // NCCL splits what has nothing to do
  Parts parts;
  parts.host = parts_.host->split(colour, key, timeout);
  const Size place = parts.host->rank();
  const Size first = said_by_first(*parts.host, rank(), timeout);
  parts.ranks = of_all_ranks(*parts.host, parts_.ranks[static_cast<std::size_t>(rank())], timeout);
  parts.collectives = std::make_unique<NcclComm>(
      *rank_,
      [&](ncclComm_t* comm, ncclConfig_t* config) {
        return ncclCommSplit(parts_.collectives->handle(), static_cast<int>(first),
                             static_cast<int>(place), comm, config);
      },
      timeout);
  parts.messages = comm_beside(*rank_, *parts.collectives, place, timeout);
  return std::make_unique<NcclCommunicator>(rank_, std::move(parts));
}

}  // namespace ptbench::nccl
