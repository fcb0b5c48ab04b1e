// How NcclCommunicator is made, of the world and of groups of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/host.h"
#include "src/comm/exchange.h"
#include "src/comm/nccl/check.h"
#include "src/comm/nccl/nccl_communicator.h"
#include "src/comm/star/network_interfaces.h"
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

/// A rank's GPU, as ranks tell each other.
struct RankGpu {
  std::uint64_t host = 0;        ///< digest of its name
  std::array<char, 32> bus{};    ///< where the host has it
  std::array<char, 256> kind{};  ///< its maker's name for it
  std::array<int, 2> capability{};

  friend bool operator==(const RankGpu&, const RankGpu&) = default;
};

RankGpu own_gpu() {
  int device = 0;
  cudaDeviceProp properties{};
  RankGpu own{.host = fnv1a(host_name())};
  PTBENCH_CUDA(cudaGetDevice(&device));
  PTBENCH_CUDA(cudaDeviceGetPCIBusId(own.bus.data(), static_cast<int>(own.bus.size()), device));
  PTBENCH_CUDA(cudaGetDeviceProperties(&properties, device));
  std::copy_n(std::begin(properties.name), own.kind.size() - 1, own.kind.begin());
  own.capability = {properties.major, properties.minor};
  return own;
}

/// Hosts look at their own GPUs alone before they meet.
void require_alike(const std::vector<RankGpu>& gpus) {
  const RankGpu& first = gpus.front();
  const auto text = [&](std::size_t rank) {
    const RankGpu& gpu = gpus[rank];
    return fmt::format("rank {} has {} ({}.{})", rank, gpu.kind.data(), gpu.capability[0],
                       gpu.capability[1]);
  };
  for (std::size_t rank = 1; rank < gpus.size(); ++rank)
    if (gpus[rank].kind != first.kind || gpus[rank].capability != first.capability)
      throw capability_error(
          fmt::format("the ranks have different GPUs: {}, {}", text(0), text(rank)),
          "use hosts with the same kind of GPU, or choose equal ones with --device");
}

/// What the environment says already stays, where the user has not asked for something else.
void tell_nccl(const char* variable, const std::string& value, bool was_asked_for = false) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread of the process reads it
  setenv(variable, value.c_str(), was_asked_for ? 1 : 0);
}

/// Where ranks share a GPU, which NCCL refuses to those of one host: has it take each for a host of
/// its own, between which values go by sockets. For tests.
void let_ranks_share(const std::vector<RankGpu>& gpus, const NcclSetup& setup) {
  const auto is_shared = [&](const RankGpu& gpu) { return std::ranges::count(gpus, gpu) > 1; };
  if (std::ranges::none_of(gpus, is_shared)) return;
  tell_nccl("NCCL_HOSTID", fmt::format("ptbench-{}", setup.host->rank()));
  if (setup.address.empty()) tell_nccl("NCCL_SOCKET_IFNAME", "lo");
  for (const char* way : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"})
    tell_nccl(way, "1");
}

/// By which network interface NCCL is to talk ('=': by none whose name only begins so), and which
/// ranks are on one host.
void say_where_ranks_are(const NcclSetup& setup) {
  if (!setup.interface.empty()) tell_nccl("NCCL_SOCKET_IFNAME", "=" + setup.interface, true);
  if (setup.address.empty()) return;
  const std::string reached_by = interface_with(setup.address);
  if (!reached_by.empty()) tell_nccl("NCCL_SOCKET_IFNAME", "=" + reached_by);
  tell_nccl("NCCL_HOSTID", host_name());
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
  const auto gpus = of_all_ranks(host, own_gpu(), setup.timeout);
  require_alike(gpus);
  let_ranks_share(gpus, setup);
  say_where_ranks_are(setup);
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
