#include "src/comm/library/ranks_of_hosts.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/exchange.h"
#include "src/comm/star/star_door.h"
#include "src/comm/star/star_links.h"
#include "src/device/affinity.h"
#include "src/process/local_socket.h"

namespace ptbench {
namespace {

using std::chrono::steady_clock;

/// The socket at which the first rank of a host hands the memory out, by its name, and what the
/// others say there. Names can be looked up; this cannot.
struct Place {
  std::array<char, 64> name{};
  std::uint64_t secret = 0;
};

/// Between two looks at the time.
constexpr std::chrono::milliseconds kLookForRanks{20};

Error not_shared(std::string_view why) {
  return run_error(
      fmt::format("the ranks of a host cannot share memory: {}", why),
      "put them into one network namespace, or give each host a name of its own: PTBENCH_HOST_ID");
}

Place new_place() {
  std::random_device random;
  Place place{.secret = new_secret()};
  fmt::format_to_n(place.name.begin(), place.name.size() - 1, "ptbench-memory/{:08x}{:08x}{:08x}",
                   random(), random(), random());
  return place;
}

/// Cores that the ranks have together.
int cores_of(Communicator& host, Communicator::Timeout timeout) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const cpu_set_t& one : of_all_ranks(host, given_cpus(), timeout)) CPU_OR(&all, &all, &one);
  return std::max(1, CPU_COUNT(&all));
}

/// To the other ranks: processes of this user, who know the secret.
void hand_out(const SharedRegion& region, const Descriptor& listener, std::uint64_t secret,
              steady_clock::time_point end) {
  StarDoor door(region.world_size(), secret);
  while (!door.missing().empty()) {
    if (steady_clock::now() >= end) throw not_shared("one rank did not fetch it");
    door.look(listener, kLookForRanks);
  }
  const std::vector<Descriptor> ranks = door.take_connections();
  for (const Descriptor& rank : ranks)
    if (rank.is_open() && belongs_to_this_user(rank))
      (void)send_message(rank, "memory", region.descriptor());  // one that has ended misses nothing
  if (door.strangers() > 0)
    log_warning(
        "a stranger connected to where the ranks of a host share memory, and was sent away");
}

SharedRegion fetch(const Place& place, Size rank, steady_clock::time_point end) {
  int error_number = 0;
  const Descriptor socket = connect_to(place.name.data(), error_number);
  if (!socket.is_open() || !send_message(socket, star_greeting(rank, place.secret)))
    throw not_shared("the rank that has it does not answer");
  SocketMessage message = receive_message(socket, end);
  if (!message.descriptor.is_open()) throw not_shared("the rank that has it does not share it");
  return SharedRegion::open(message.descriptor.release());
}

/// Of the ranks of `host`, which are this host's.
SharedRegion share_memory(Communicator& host, Bytes bytes_per_rank, Communicator::Timeout timeout) {
  const steady_clock::time_point end = steady_clock::now() + timeout;
  const int cores = cores_of(host, timeout);
  Place place;
  const auto tell = [&] {
    host.wait(host.start_broadcast(std::as_writable_bytes(std::span(&place, 1)), 0), timeout);
    place.name.back() = '\0';  // whatever came
  };
  if (host.rank() != 0) {
    tell();
    return fetch(place, host.rank(), end);
  }
  SharedRegion region = SharedRegion::create(host.world_size(), bytes_per_rank, cores);
  if (host.world_size() == 1) return region;
  place = new_place();
  int error_number = 0;
  const Descriptor listener = listen_at(place.name.data(), error_number);
  if (!listener.is_open()) throw not_shared("the system gives no socket");
  tell();
  hand_out(region, listener, place.secret, end);
  return region;
}

}  // namespace

bool follow_each_other(const std::vector<std::string>& hosts) {
  std::set<std::string_view> seen;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (rank > 0 && hosts[rank] == hosts[rank - 1]) continue;
    if (!seen.insert(hosts[rank]).second) return false;
  }
  return true;
}

RanksOfHosts share_memory_of_hosts(const std::vector<std::string>& hosts, Communicator& words,
                                   Bytes bytes_per_rank, Communicator::Timeout timeout) {
  ensure(follow_each_other(hosts), "where there are leaders, ranks of a host follow each other");
  std::vector<std::string> names;
  std::vector<std::vector<Size>> members;
  std::size_t own = 0;
  for (Size rank = 0; rank < words.world_size(); ++rank) {
    const std::string& name = hosts[static_cast<std::size_t>(rank)];
    const auto host = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (host == names.size()) {
      names.push_back(name);
      members.emplace_back();
    }
    members[host].push_back(rank);
    if (rank == words.rank()) own = host;
  }
  const std::unique_ptr<Communicator> host =
      words.split(static_cast<Size>(own), words.rank(), timeout);
  return {.region = share_memory(*host, bytes_per_rank, timeout),
          .members = std::move(members),
          .own = own};
}

}  // namespace ptbench
