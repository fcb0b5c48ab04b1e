#include "src/comm/star/star_communicator.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "src/base/error.h"
#include "src/comm/exchange.h"
#include "src/comm/operation_text.h"

namespace ptbench {
namespace {

using shared::Collective;
using shared::Operation;

// How long it takes at most to learn that a rank gave up, and for that word to come where a
// connection has ended.
constexpr std::chrono::milliseconds kNap{20};
constexpr std::chrono::milliseconds kGrace{500};

[[noreturn]] void refuse_values() {
  throw Defect("what carries host messages carries no values of a training");
}

}  // namespace

StarCommunicator::StarCommunicator(SharedRegion region, StarLinks star, std::vector<Size> members,
                                   std::string address)
    : region_(std::move(region)),
      star_(std::move(star)),
      members_(std::move(members)),
      address_(std::move(address)) {}

Communicator::Ticket StarCommunicator::start(Started started, const Event* after) {
  require_going(started.operation);
  if (after != nullptr) after->finish();
  region_.rank_block(own()).worked.fetch_add(1, std::memory_order_relaxed);
  pending_.push_back(started);
  return Ticket{++started_};
}

Communicator::Ticket StarCommunicator::start_gather(std::span<const std::byte> part,
                                                    std::span<std::byte> whole, Size root,
                                                    const Event* after) {
  ensure(rank() != root || whole.size() == part.size() * members_.size(),
         "a gather's whole holds every rank's part");
  // It is only read.
  const std::span<std::byte> values{const_cast<std::byte*>(part.data()), part.size()};
  return start({.operation = {.collective = Collective::gather, .root = root, .bytes = part.size()},
                .values = values,
                .whole = whole},
               after);
}

Communicator::Ticket StarCommunicator::start_broadcast(std::span<std::byte> bytes, Size root,
                                                       const Event* after) {
  return start(
      {.operation = {.collective = Collective::broadcast, .root = root, .bytes = bytes.size()},
       .values = bytes},
      after);
}

Communicator::Ticket StarCommunicator::start_barrier() { return start({.operation = {}}, nullptr); }

void StarCommunicator::wait(Ticket ticket, Timeout timeout) {
  const auto number = static_cast<std::uint64_t>(ticket);
  ensure(number >= 1 && number <= started_, "a ticket comes from a started operation");
  const Clock::time_point end = Clock::now() + timeout;
  while (finished_ < number) {
    work_on({.started = pending_.front(), .timeout = timeout, .end = end});
    pending_.pop_front();
    ++finished_;
  }
}

void StarCommunicator::order(Queue& /*queue*/, Ticket ticket, Timeout timeout) {
  wait(ticket, timeout);
}

void StarCommunicator::work_on(const Turn& turn) {
  switch (turn.started.operation.collective) {
    case Collective::gather: return gather(turn);
    case Collective::broadcast: return broadcast(turn);
    default:  // a barrier: all come to rank 0, which lets all go
      gather(turn);
      broadcast(turn);
  }
}

/// From the root to rank 0, and from there to all others.
void StarCommunicator::broadcast(const Turn& turn) {
  const std::span<std::byte> bytes = turn.started.values;
  const Size root = turn.started.operation.root;
  if (rank() != 0) {
    if (rank() == root)
      send_to(0, bytes, turn);
    else
      receive_from(0, bytes, turn);
    return;
  }
  if (root != 0) receive_from(root, bytes, turn);
  for (Size other = 1; other < world_size(); ++other)
    if (other != root) send_to(other, bytes, turn);
}

/// From all to rank 0, and from there to the root.
void StarCommunicator::gather(const Turn& turn) {
  if (rank() == 0) return gather_here(turn);
  send_to(0, turn.started.values, turn);
  if (rank() == turn.started.operation.root) receive_from(0, turn.started.whole, turn);
}

void StarCommunicator::gather_here(const Turn& turn) {
  const std::span<std::byte> own = turn.started.values;
  const Size root = turn.started.operation.root;
  std::vector<std::byte> to_pass_on(root == 0 ? 0 : own.size() * members_.size());
  const std::span<std::byte> whole = root == 0 ? turn.started.whole : std::span(to_pass_on);
  std::ranges::copy(own, whole.begin());
  for (Size other = 1; other < world_size(); ++other)
    receive_from(other, whole.subspan(static_cast<std::size_t>(other) * own.size(), own.size()),
                 turn);
  if (root != 0) send_to(root, whole, turn);
}

void StarCommunicator::send_to(Size rank, std::span<const std::byte> bytes, const Turn& turn) {
  const Head head{.number = finished_, .bytes = bytes.size()};
  send_all(rank, std::as_bytes(std::span(&head, 1)), turn);
  send_all(rank, bytes, turn);
}

void StarCommunicator::receive_from(Size rank, std::span<std::byte> bytes, const Turn& turn) {
  Head head;
  receive_all(rank, std::as_writable_bytes(std::span(&head, 1)), turn);
  if (head.number != finished_ || head.bytes != bytes.size())
    give_up(turn.started.operation, fmt::format("rank {} does another operation",
                                                members_[static_cast<std::size_t>(rank)]));
  receive_all(rank, bytes, turn);
}

void StarCommunicator::send_all(Size rank, std::span<const std::byte> bytes, const Turn& turn) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(link_to(rank).number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN || errno == EINTR)
      await(rank, POLLOUT, turn);
    else
      miss(rank, turn);
  }
}

void StarCommunicator::receive_all(Size rank, std::span<std::byte> bytes, const Turn& turn) {
  while (!bytes.empty()) {
    const ssize_t received = recv(link_to(rank).number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    else if (received < 0 && (errno == EAGAIN || errno == EINTR))
      await(rank, POLLIN, turn);
    else
      miss(rank, turn);
  }
}

void StarCommunicator::await(Size rank, short events, const Turn& turn) {
  pollfd event{.fd = link_to(rank).number(), .events = events, .revents = 0};
  if (poll(&event, 1, static_cast<int>(kNap.count())) > 0) return;
  require_going(turn.started.operation);
  if (Clock::now() >= turn.end)
    give_up(
        turn.started.operation,
        fmt::format("rank {} did not come within {:g} s", members_[static_cast<std::size_t>(rank)],
                    std::chrono::duration<double>(turn.timeout).count()));
}

const Descriptor& StarCommunicator::link_to(Size rank) const {
  return star_.rank == 0 ? star_.links.at(static_cast<std::size_t>(rank)) : star_.links.front();
}

void StarCommunicator::require_going(const Operation& operation) const {
  const auto by = region_.given_up();
  if (!by) return;
  throw run_error(fmt::format("rank {}: {}: rank {} gave up: {}", own(), operation_text(operation),
                              by->rank, by->reason),
                  "see what that rank reported");
}

/// Its connection has ended: why, others may say soon.
void StarCommunicator::miss(Size rank, const Turn& turn) {
  const Clock::time_point end = Clock::now() + kGrace;
  while (Clock::now() < end) {
    require_going(turn.started.operation);
    (void)poll(nullptr, 0, static_cast<int>(kNap.count()));
  }
  give_up(turn.started.operation, fmt::format("the connection to rank {} has ended",
                                              members_[static_cast<std::size_t>(rank)]));
}

void StarCommunicator::give_up(const Operation& operation, const std::string& why) {
  require_going(operation);
  const Error error =
      run_error(fmt::format("rank {}: {}: {}", own(), operation_text(operation), why),
                "find out what happened to it, or give a longer --timeout");
  region_.give_up(own(), error.what());
  throw Error(error);
}

std::unique_ptr<Communicator> StarCommunicator::split(Size colour, Size key, Timeout timeout) {
  std::string why;
  const Descriptor listener = listen_at(NetworkAddress{.host = address_}, why);
  if (!listener.is_open())
    throw run_error(fmt::format("rank {} cannot listen at {}: {}", own(), address_, why),
                    "check the limit of open files (ulimit -n)");
  StarPlace own_place = star_place_at(own_address(listener));
  own_place.colour = colour;
  own_place.key = key;
  own_place.secret = new_secret();
  const StarGroup group = star_group_of(rank(), of_all_ranks(*this, own_place, timeout));
  const StarPatience patience{.end = Clock::now() + timeout, .look = [this] { require_going({}); }};
  const Size place = std::ranges::find(group.ranks, rank()) - group.ranks.begin();
  StarLinks star = place == 0
                       ? accept_star(listener, std::ssize(group.ranks), group.secret, patience)
                       : join_star(group.hub, place, group.secret, patience);
  std::vector<Size> members;
  for (const Size rank : group.ranks) members.push_back(members_[static_cast<std::size_t>(rank)]);
  return std::make_unique<StarCommunicator>(region_, std::move(star), std::move(members), address_);
}

Communicator::Ticket StarCommunicator::start_all_reduce(Values /*values*/, Reduction /*reduction*/,
                                                        const Event* /*after*/) {
  refuse_values();
}

Communicator::Ticket StarCommunicator::start_reduce_scatter(Values /*values*/,
                                                            Reduction /*reduction*/,
                                                            const Event* /*after*/) {
  refuse_values();
}

Communicator::Ticket StarCommunicator::start_all_gather(Values /*values*/, const Event* /*after*/) {
  refuse_values();
}

Communicator::Ticket StarCommunicator::start_reduce(Values /*values*/, Size /*root*/,
                                                    Reduction /*reduction*/,
                                                    const Event* /*after*/) {
  refuse_values();
}

Communicator::Ticket StarCommunicator::start_send(std::span<const std::byte> /*bytes*/, Size /*to*/,
                                                  const Event* /*after*/) {
  refuse_values();
}

Communicator::Ticket StarCommunicator::start_receive(std::span<std::byte> /*bytes*/, Size /*from*/,
                                                     const Event* /*after*/) {
  refuse_values();
}

StarPlace star_place_at(const NetworkAddress& address) {
  StarPlace place{.port = address.port};
  ensure(address.host.size() < place.host.size(), "addresses as numbers are short");
  std::ranges::copy(address.host, place.host.begin());
  return place;
}

StarGroup star_group_of(Size own, const std::vector<StarPlace>& places) {
  const auto place = [&](Size rank) -> const StarPlace& {
    return places[static_cast<std::size_t>(rank)];
  };
  StarGroup group;
  for (Size rank = 0; rank < std::ssize(places); ++rank)
    if (place(rank).colour == place(own).colour) group.ranks.push_back(rank);
  std::ranges::sort(group.ranks, {}, [&](Size rank) { return std::pair(place(rank).key, rank); });
  const StarPlace& first = place(group.ranks.front());
  group.hub = {.host = std::string(first.host.begin(), std::ranges::find(first.host, '\0')),
               .port = first.port};
  group.secret = first.secret;
  return group;
}

}  // namespace ptbench
