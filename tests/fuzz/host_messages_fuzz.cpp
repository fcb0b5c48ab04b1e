// What ranks of several hosts read from connections, which anybody may make who reaches a port. The
// first byte says who reads it.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/comm/rank_door.h"
#include "src/comm/star_communicator.h"
#include "src/comm/star_door.h"
#include "src/comm/star_group.h"
#include "src/process/local_socket.h"
#include "src/process/outbox.h"
#include "src/ranks/rank_mirror.h"

namespace ptbench {
namespace {

using Kind = SocketMessage::Kind;
using Parts = std::vector<std::string_view>;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A connection, as between hosts: a stream of bytes.
struct Connection {
  Connection() {
    std::array<int, 2> ends{};
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    near = Descriptor(ends[0]);
    far = Descriptor(ends[1]);
  }
  /// False once the near end is closed.
  [[nodiscard]] bool say(std::string_view bytes) const {
    return send(far.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
  }
  Descriptor near;
  Descriptor far;
};

/// Takes a number from the front.
std::size_t number_in(std::string_view& input) {
  if (input.empty()) return 0;
  const auto number = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return number;
}

/// Texts, each after its length.
Parts parts_of(std::string_view input) {
  Parts parts;
  while (!input.empty()) {
    const std::size_t size = std::min(number_in(input), input.size());
    if (size > 0) parts.push_back(input.substr(0, size));
    input.remove_prefix(size);
  }
  return parts;
}

/// The messages that are whole, before the first that is none.
std::vector<std::string> messages_in(std::string_view stream) {
  std::vector<std::string> messages;
  std::uint32_t size = 0;
  while (stream.size() >= sizeof size) {
    std::memcpy(&size, stream.data(), sizeof size);
    stream.remove_prefix(sizeof size);
    if (size > kMostMessage || size > stream.size()) break;
    messages.emplace_back(stream.substr(0, size));
    stream.remove_prefix(size);
  }
  return messages;
}

/// Messages are the same however their bytes come.
void read_messages(std::string_view input) {
  Connection connection;
  std::string sent;
  std::vector<std::string> heard;
  const auto hear = [&] {
    for (;;) {
      const SocketMessage next = peek_message(connection.near);
      SocketMessage message = receive_message(connection.near);
      require(next.kind == message.kind && next.text == message.text);
      if (message.kind != Kind::text) return message.kind;
      heard.push_back(std::move(message.text));
    }
  };
  for (const std::string_view part : parts_of(input)) {
    if (!connection.say(part)) break;  // the kernel holds no more in small parts
    sent += part;
    if (hear() == Kind::closed) break;
    require(heard == messages_in(sent));
  }
  connection.far.close();
  require(hear() == Kind::closed && heard == messages_in(sent));
}

/// Of four ranks, none of which has given up.
const SharedRegion& fresh_region() {
  static const SharedRegion region = SharedRegion::create(4, 1);
  region.header().surrender.state = shared::Surrender::nobody;
  return region;
}

/// Others than rank 0 tell of themselves alone, and nobody of the rank that hears it.
void hear_states(std::string_view input) {
  const SharedRegion& region = fresh_region();
  const auto own = static_cast<Size>(number_in(input) % 4);
  const auto from = static_cast<Size>(number_in(input) % 4);
  RankMirror mirror(region, own, std::chrono::seconds(1));
  const auto known = [&] {
    std::array<std::array<std::uint64_t, 4>, 4> all{};
    for (Size rank = 0; rank < 4; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      all.at(at) = {region.rank_block(rank).worked, region.rank_block(rank).started_on_device,
                    region.phases()[at].load(),
                    static_cast<std::uint64_t>(mirror.silent(rank).count())};
    }
    return all;
  };
  const auto before = known();
  for (const std::string_view message : parts_of(input)) (void)mirror.hear(from, message);
  const auto after = known();
  for (Size rank = 0; rank < 4; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const bool may_change = rank != own && (from == 0 || rank == from);
    require(may_change || before.at(at) == after.at(at));
  }
  if (const auto by = region.given_up()) require(by->rank >= 0 && by->rank < 4);
  Outbox outbox;  // what was taken over is told to the next
  mirror.note(std::chrono::milliseconds(0));
  mirror.tell(own == 0 ? 1 : 0, outbox);
}

/// Four callers at a door of three ranks, who say the parts in turn. Who is taken for a rank began
/// with `word`, after so many bytes.
template <class Socket, class Door>
void come_to(Door door, std::string_view input, std::string_view word, std::size_t before = 0) {
  std::array<Connection, 4> callers;
  std::array<std::string, 4> said;
  for (Connection& caller : callers) door.take_in(Socket(caller.near.release()));
  std::size_t at = 0;
  for (const std::string_view part : parts_of(input)) {
    if (callers.at(at).say(part)) said.at(at) += part;
    at = (at + 1) % callers.size();
    door.hear();
  }
  for (Connection& caller : callers) caller.far.close();
  door.hear();
  const std::size_t ranks = 2 - door.missing().size();
  const auto known = std::ranges::count_if(said, [&](std::string_view words) {
    return words.substr(std::min(before, words.size())).starts_with(word);
  });
  require(std::cmp_less_equal(ranks, known));
  require(door.callers() == 0 && ranks + door.strangers() <= callers.size());
  require(door.take_connections().size() == 3);
}

void come_to_star(std::string_view input) {
  constexpr std::uint64_t kSecret = 7;
  come_to<Descriptor>(StarDoor(3, kSecret), input, "ptbench star 7 ", sizeof(std::uint32_t));
}

void come_to_rank(std::string_view input) {
  const DoorWord word{0x0101010101010101, 0x0202020202020202};
  come_to<RankSocket>(RankDoor(0, 3, word), input,
                      {reinterpret_cast<const char*>(word.data()), sizeof word});
}

/// Rank 1 of two, whose rank 0 says anything: an operation ends with its bytes, or with an error.
void hear_words(std::string_view input) {
  using std::chrono::seconds;
  Connection connection;
  constexpr std::size_t kMostHeard = 256;  // so that nobody waits for what does not come
  std::string said(input.substr(0, kMostHeard));
  said.resize(kMostHeard);
  require(connection.say(said));
  StarLinks links{.rank = 1};
  links.links.push_back(std::move(connection.near));
  StarCommunicator star(fresh_region(), std::move(links), {0, 1}, "127.0.0.1");
  std::array<std::byte, 5> own{};
  std::array<std::byte, 10> all{};
  constexpr std::size_t kHead = 16;
  try {
    star.wait(star.start_broadcast(own, 0), seconds(60));
    require(std::memcmp(own.data(), said.data() + kHead, own.size()) == 0);
    star.wait(star.start_gather(own, all, 1), seconds(60));
    require(std::memcmp(all.data(), said.data() + 2 * kHead + own.size(), all.size()) == 0);
    star.wait(star.start_barrier(), seconds(60));
  } catch (const Error& error) {
    require(error.code() == ExitCode::failed);
  }
}

/// All ranks of a group are of one mind about it.
void meet_in_groups(std::string_view input) {
  std::vector<StarPlace> places(std::min<std::size_t>(input.size() / sizeof(StarPlace), 16));
  if (places.empty()) return;
  std::memcpy(places.data(), input.data(), places.size() * sizeof(StarPlace));
  for (Size own = 0; own < std::ssize(places); ++own) {
    const StarGroup group = star_group_of(own, places);
    require(std::ranges::count(group.ranks, own) == 1);
    require(group.hub.host.size() <= places.front().host.size());
    const StarGroup of_first = star_group_of(group.ranks.front(), places);
    require(group.ranks == of_first.ranks && group.secret == of_first.secret);
  }
}

void read(std::string_view input) {
  using Reader = void (*)(std::string_view);
  constexpr std::array<Reader, 6> kReaders{read_messages, hear_states, come_to_star,
                                           come_to_rank,  hear_words,  meet_in_groups};
  const std::size_t reader = number_in(input);
  if (reader < kReaders.size()) kReaders.at(reader)(input);
}

}  // namespace
}  // namespace ptbench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ptbench::read(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
