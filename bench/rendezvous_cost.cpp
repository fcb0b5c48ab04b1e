// What it costs that ranks meet and watch each other, by their number: processes that do nothing
// else.
//
//   ptbench_bench_rendezvous [apart] [RANKS…]    # default: 2 4 8 16 32 64 128 256
//
// Prints a table as Markdown: seconds from the first rank's start until all are admitted, and CPU
// time, which other programs on the machine disturb less, of rank 0 and of the others. "apart":
// each rank is a host of its own, over TCP on the loopback interface; they have met once they are
// connected, count twenty collectives a second while they watch each other, and the table has what
// the links that tell of it carry.
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/comm/shm/shared_region.h"
#include "src/process/network_socket.h"
#include "src/ranks/peer_watch.h"
#include "src/ranks/rank_connections.h"
#include "src/ranks/rendezvous.h"

namespace {

using ptbench::Size;
using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kWatched{2};
constexpr std::chrono::milliseconds kCollective{50};
constexpr std::chrono::minutes kTimeout{2};
constexpr int kRepeats = 3;

/// CPU time of a rank.
struct Cost {
  double meeting = 0;   ///< seconds until it was admitted
  double watching = 0;  ///< seconds a second after that
  double sent = 0;      ///< by rank 0's links, bytes a second
  double received = 0;  ///< the same
};

struct Measured {
  double met = 0;  ///< seconds until all were admitted
  Cost first;      ///< rank 0's
  Cost others;     ///< their mean
};

double cpu_seconds() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Where ranks of one job meet.
struct World {
  Size ranks = 0;
  ptbench::MeetingPoint point;
  [[nodiscard]] bool is_apart() const { return point.loopback_joins_hosts; }
};

World world_of(Size ranks, bool apart) {
  World world{.ranks = ranks,
              .point = {.job = fmt::format("bench {} {}", getpid(),
                                           Clock::now().time_since_epoch().count()),
                        .place = "bench",
                        .timeout = kTimeout}};
  if (!apart) return world;
  std::string why;
  const ptbench::Descriptor free = ptbench::listen_at(ptbench::NetworkAddress{"127.0.0.1"}, why);
  world.point.hosts = ptbench::HostsOfRanks::any;
  world.point.loopback_joins_hosts = true;
  world.point.address = {.variables = "PTBENCH_ADDR",
                         .variable = "PTBENCH_ADDR",
                         .host = "127.0.0.1",
                         .port = ptbench::own_address(free).port};
  return world;
}

ptbench::RankCard card_of(const World& world, Size rank) {
  return {.version = "bench",
          .job = world.point.job,
          .host = world.is_apart() ? fmt::format("node{}.example", rank) : "here",
          .rank = rank,
          .world_size = world.ranks,
          .local_rank = world.is_apart() ? 0 : rank,
          .cpus = {0, 1},
          .options = {{"strategy", "ddp"}, {"batch-size", "64"}}};
}

/// What a rank has met the others with.
struct Met {
  ptbench::SharedRegion region;
  ptbench::PeerLinks links;
  std::unique_ptr<ptbench::RanksApart> apart;
};

Met lead(const World& world) {
  ptbench::RankGathering gathering(card_of(world, 0), world.point);
  gathering.gather();
  Met met{.region = ptbench::SharedRegion::create(world.ranks, 4096), .links = {}, .apart = {}};
  if (!world.is_apart()) {
    met.links = gathering.admit(met.region);
    return met;
  }
  const ptbench::OpenDoor open = ptbench::open_door(world.point);
  met.links = gathering.admit(met.region, open.door);
  met.apart =
      ptbench::connect_to_ranks(open, met.region, gathering.welcome(), world.point, met.links);
  return met;
}

Met follow(const World& world, Size rank) {
  ptbench::Admission admission = ptbench::join_ranks(card_of(world, rank), world.point);
  if (!world.is_apart())
    return {.region = admission.region.value(), .links = std::move(admission.links), .apart = {}};
  Met met{.region = ptbench::SharedRegion::create(world.ranks, 4096),
          .links = std::move(admission.links),
          .apart = {}};
  met.apart = ptbench::connect_to_rank_zero(met.region, admission.welcome, world.point, met.links);
  return met;
}

/// Bytes that the connections have carried to and fro, where they are of TCP.
struct Carried {
  double sent = 0;
  double received = 0;
};

Carried carried_by(const std::vector<ptbench::Descriptor>& connections) {
  Carried all;
  for (const ptbench::Descriptor& connection : connections) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(connection.number(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    all.sent += static_cast<double>(info.tcpi_bytes_acked);
    all.received += static_cast<double>(info.tcpi_bytes_received);
  }
  return all;
}

/// Those of the watch, once more: it owns its links.
std::vector<ptbench::Descriptor> connections_of(const ptbench::PeerLinks& links) {
  std::vector<ptbench::Descriptor> connections;
  for (const ptbench::PeerLink& peer : links.peers)
    if (links.are_apart) connections.emplace_back(dup(peer.socket.number()));
  return connections;
}

/// As long as it is watched.
void be_busy(const Met& met, Size rank) {
  if (!met.apart) return std::this_thread::sleep_for(kWatched);
  const auto end = Clock::now() + kWatched;
  for (; Clock::now() < end; std::this_thread::sleep_for(kCollective)) {
    ++met.region.rank_block(rank).worked;
    ++met.region.rank_block(rank).started_on_device;
  }
}

void watch(Met met, Size rank, Cost& cost) {
  const std::vector<ptbench::Descriptor> connections = connections_of(met.links);
  const ptbench::PeerWatch watch(met.region, std::move(met.links), kTimeout);
  const double before = cpu_seconds();
  const Carried first = carried_by(connections);
  be_busy(met, rank);
  const Carried last = carried_by(connections);
  const double seconds = Seconds(kWatched).count();
  cost.watching = (cpu_seconds() - before) / seconds;
  cost.sent = (last.sent - first.sent) / seconds;
  cost.received = (last.received - first.received) / seconds;
}

Cost be_rank(const World& world, Size rank) {
  const double begin = cpu_seconds();
  Met met = follow(world, rank);
  Cost cost{.meeting = cpu_seconds() - begin};
  watch(std::move(met), rank, cost);
  return cost;
}

/// Memory that processes which are forked share.
std::span<Cost> shared_costs(Size count) {
  const auto size = static_cast<std::size_t>(count);
  void* memory =
      mmap(nullptr, size * sizeof(Cost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return {new (memory) Cost[size], size};
}

Measured measure(const World& world) {
  const Size ranks = world.ranks;
  const std::span<Cost> costs = shared_costs(ranks);
  const auto begin = Clock::now();
  for (Size rank = 1; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    try {
      costs[static_cast<std::size_t>(rank)] = be_rank(world, rank);
    } catch (const std::exception& error) {
      fmt::print(stderr, "rank {}: {}\n", rank, error.what());
      _exit(1);
    }
    _exit(0);
  }
  Measured result;
  const double cpu = cpu_seconds();
  Met met = lead(world);
  result.met = Seconds(Clock::now() - begin).count();
  result.first.meeting = cpu_seconds() - cpu;
  watch(std::move(met), 0, result.first);
  while (wait(nullptr) > 0) continue;
  for (const Cost& cost : costs.subspan(1)) {
    result.others.meeting += cost.meeting / static_cast<double>(ranks - 1);
    result.others.watching += cost.watching / static_cast<double>(ranks - 1);
  }
  (void)munmap(costs.data(), costs.size_bytes());
  return result;
}

template <class Value>
double median_of(std::vector<Measured> all, Value value) {
  std::ranges::sort(all, {}, value);
  return value(all[all.size() / 2]);
}

void print(Size ranks, bool apart) {
  std::vector<Measured> all;
  for (int repeat = 0; repeat < kRepeats; ++repeat) all.push_back(measure(world_of(ranks, apart)));
  constexpr double kMilli = 1e3;
  fmt::print("| {} | {:.1f} ms | {:.2f} ms | {:.3f} ms | {:.3f} % | {:.3f} % |", ranks,
             kMilli * median_of(all, [](const Measured& one) { return one.met; }),
             kMilli * median_of(all, [](const Measured& one) { return one.first.meeting; }),
             kMilli * median_of(all, [](const Measured& one) { return one.others.meeting; }),
             100 * median_of(all, [](const Measured& one) { return one.first.watching; }),
             100 * median_of(all, [](const Measured& one) { return one.others.watching; }));
  if (apart)
    fmt::print(" {:.1f} kB/s | {:.1f} kB/s |",
               median_of(all, [](const Measured& one) { return one.first.sent; }) / kMilli,
               median_of(all, [](const Measured& one) { return one.first.received; }) / kMilli);
  fmt::print("\n");
  std::fflush(stdout);
}

void print_all(std::vector<Size> worlds, bool apart) {
  fmt::print(
      "| ranks | all have met after | rank 0's CPU time for it | another's | watching: rank 0's "
      "share of a core | another's |{}\n|---|---|---|---|---|---|{}\n",
      apart ? " rank 0 sends | and receives |" : "", apart ? "---|---|" : "");
  if (worlds.empty()) worlds = {2, 4, 8, 16, 32, 64, 128, 256};
  for (const Size ranks : worlds) print(std::max<Size>(2, ranks), apart);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    bool apart = false;
    std::vector<Size> worlds;
    for (const char* argument : std::span(arguments, static_cast<std::size_t>(count)).subspan(1))
      if (std::string_view(argument) == "apart")
        apart = true;
      else
        worlds.push_back(std::strtoll(argument, nullptr, 10));
    print_all(std::move(worlds), apart);
    return 0;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
