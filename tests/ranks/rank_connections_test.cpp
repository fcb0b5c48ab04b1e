// Ranks on several hosts, as far as one host can play them: threads with other host names.
#include "src/ranks/rank_connections.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/phase_board.h"
#include "src/comm/exchange.h"
#include "src/process/local_socket.h"
#include "src/process/network_socket.h"
#include "src/ranks/core_shares.h"
#include "src/ranks/peer_watch.h"
#include "tests/support/standard_error.h"

namespace ptbench {
namespace {

using Catch::Contains;
using namespace std::chrono_literals;
using namespace std::string_literals;

RankCard card_on(const std::string& host, Size rank, Size world_size, std::vector<int> cpus = {0}) {
  return {.version = "ptbench 1",
          .job = "apart",
          .host = host,
          .rank = rank,
          .world_size = world_size,
          .local_rank = 0,
          .cpus = std::move(cpus)};
}

MeetingPoint point_for(HostsOfRanks hosts) {
  static int count = 0;
  MeetingPoint point{.job = fmt::format("apart {} {}", getpid(), ++count),
                     .place = "PTBENCH_ADDR here:1",
                     .timeout = 20s};
  point.hosts = hosts;
  return point;
}

/// The loopback interface is the network between the hosts, at a port that nobody uses.
MeetingPoint point_on_network() {
  std::string why;
  const Descriptor listener = listen_at(NetworkAddress{.host = "127.0.0.1"}, why);
  MeetingPoint point = point_for(HostsOfRanks::any);
  point.loopback_joins_hosts = true;
  point.address = {.variables = "PTBENCH_ADDR",
                   .variable = "PTBENCH_ADDR",
                   .host = "127.0.0.1",
                   .port = own_address(listener).port};
  return point;
}

/// A rank, with a region of its own.
struct Apart {
  SharedRegion region;
  Welcome welcome = {};
  PeerLinks links = {};
  std::unique_ptr<RanksApart> words = {};
};

/// Rank 0, on host a.
Apart lead(const MeetingPoint& point, Size world_size = 2) {
  RankCard card = card_on("a", 0, world_size);
  card.job = point.job;
  RankGathering gathering(card, point);
  gathering.gather();
  Apart own{.region = SharedRegion::create(world_size, 1), .welcome = gathering.welcome()};
  const OpenDoor open = open_door(point);
  own.links = gathering.admit(own.region, open.door);
  own.words = connect_to_ranks(open, own.region, own.welcome, point, own.links);
  return own;
}

/// One that has come, and not to the door.
Admission come(const MeetingPoint& point, Size rank, Size world_size, const std::string& host) {
  RankCard card = card_on(host, rank, world_size);
  card.job = point.job;
  return join_ranks(card, point);
}

Apart follow(const MeetingPoint& point, Size world_size = 2, const std::string& host = "b") {
  Admission admission = come(point, 1, world_size, host);
  Apart own{.region = SharedRegion::create(world_size, 1),
            .welcome = admission.welcome,
            .links = std::move(admission.links)};
  own.words = connect_to_rank_zero(own.region, own.welcome, point, own.links);
  return own;
}

/// A connection to rank 0's port, once it listens, that said `message`.
Descriptor stranger_at(const MeetingPoint& point, const std::string& message) {
  const NetworkAddress address{.host = point.address.host, .port = point.address.port};
  std::string why;
  Descriptor socket;
  while (!socket.is_open()) {
    socket = connect_to(address, std::chrono::steady_clock::now() + 20s, why);
    std::this_thread::sleep_for(1ms);
  }
  if (!message.empty()) (void)send_message(socket, message);
  return socket;
}

bool is_sent_away(const Descriptor& stranger) {
  const auto answer =
      decode_answer(receive_message(stranger, std::chrono::steady_clock::now() + 20s).text);
  return answer && answer->busy;
}

/// How a rank of another version introduces itself.
std::string foreign_card(const std::string& job) {
  return "ptbench rank\0"s + "9\0"s + "ptbench 9\0"s + "1\0"s + job + "\0"s;
}

/// Both of two.
std::pair<Apart, Apart> met(const MeetingPoint& point = point_for(HostsOfRanks::any)) {
  auto following = std::async(std::launch::async, [&] { return follow(point); });
  Apart zero = lead(point);
  return {std::move(zero), following.get()};
}

GivenUp surrender_seen_in(const SharedRegion& region, std::chrono::milliseconds pause = 1ms) {
  for (;;) {
    if (const auto given_up = region.given_up()) return *given_up;
    std::this_thread::sleep_for(pause);
  }
}

TEST_CASE("ranks on different hosts have their cores and local ranks for themselves", "[comm]") {
  const std::vector<CoreShare> shares = shares_of(
      {card_on("a", 0, 3, {0, 1}), card_on("a", 1, 3, {0, 1}), card_on("b", 2, 3, {0, 1})});
  CHECK(shares[0] == CoreShare{.cores = 4, .threads = 1, .index = 0});
  CHECK(shares[1] == CoreShare{.cores = 4, .threads = 1, .index = 1});
  CHECK(shares[2] == CoreShare{.cores = 4, .threads = 1, .index = 0});
}

TEST_CASE("ranks on several hosts meet and have words without shared memory", "[comm]") {
  auto [zero, one] = met();
  CHECK(zero.links.are_apart);
  CHECK(one.links.are_apart);
  CHECK(zero.links.peers.front().host == "b");
  CHECK(one.links.peers.front().host == "a");
  CHECK(one.words->hosts == std::vector<std::string>{"a", "b"});
  auto said = std::async(std::launch::async,
                         [&] { return of_all_ranks(*one.words->words, Size{7}, 20'000ms); });
  CHECK(of_all_ranks(*zero.words->words, Size{5}, 20'000ms) == std::vector<Size>{5, 7});
  CHECK(said.get() == std::vector<Size>{5, 7});
}

TEST_CASE("ranks of other hosts come to a port, and strangers keep none of them out", "[comm]") {
  const MeetingPoint point = point_on_network();
  int sent_away = 0;
  auto following = std::async(std::launch::async, [&] {
    RankCard other = card_on("b", 1, 2);
    other.job = job_between_hosts("another job");
    RankCard of_another_user = other;
    of_another_user.job = point.job + " of somebody else";
    for (const std::string& message : {"x"s, std::string(kMostMessage, '\0'), encode(other),
                                       encode(of_another_user), foreign_card("another job")})
      sent_away += is_sent_away(stranger_at(point, message)) ? 1 : 0;
    const Descriptor nonsense = stranger_at(point, "");
    (void)send(nonsense.number(), "GET / HTTP/1.1", 14, MSG_NOSIGNAL);
    sent_away += is_sent_away(nonsense) ? 1 : 0;
    std::vector<Descriptor> silent;
    for (int count = 0; count < 200; ++count) silent.push_back(stranger_at(point, ""));
    return follow(point);
  });
  Apart zero = lead(point);
  const Apart one = following.get();
  CHECK(sent_away == 6);
  CHECK(is_network_socket(one.links.peers.front().socket));
  auto said = std::async(std::launch::async,
                         [&] { return of_all_ranks(*one.words->words, Size{7}, 20'000ms); });
  CHECK(of_all_ranks(*zero.words->words, Size{5}, 20'000ms) == std::vector<Size>{5, 7});
  CHECK(said.get() == std::vector<Size>{5, 7});
}

TEST_CASE("strangers at rank 0's door are sent away with one warning", "[comm]") {
  const MeetingPoint point = point_on_network();
  auto following = std::async(std::launch::async, [&] { return follow(point); });
  RankCard card = card_on("a", 0, 2);
  card.job = point.job;
  RankGathering gathering(card, point);
  gathering.gather();
  Apart zero{.region = SharedRegion::create(2, 1), .welcome = gathering.welcome()};
  const OpenDoor open = open_door(point);
  // Nothing, nonsense, less than a message, one of somebody who does not know the secret.
  const std::vector<std::string> words{"", "GET / HTTP/1.1\r\n\r\n", "\x05",
                                       framed("ptbench star 1 1")};
  const auto end = std::chrono::steady_clock::now() + 20s;
  std::vector<Descriptor> strangers;
  const auto come_once = [&] {
    std::string why;
    Descriptor stranger = connect_to(own_address(open.listener), end, why);
    const std::string& said = words.at(strangers.size() % words.size());
    (void)send(stranger.number(), said.data(), said.size(), MSG_NOSIGNAL);
    strangers.push_back(std::move(stranger));
  };
  const testing::StandardError errors;
  for (int count = 0; count < 200; ++count) come_once();
  zero.links = gathering.admit(zero.region, open.door);
  zero.words = connect_to_ranks(open, zero.region, zero.welcome, point, zero.links);
  const Apart one = following.get();
  for (const Descriptor& stranger : strangers)
    CHECK(receive_message(stranger, end).kind == SocketMessage::Kind::closed);
  auto said = std::async(std::launch::async,
                         [&] { return of_all_ranks(*one.words->words, Size{7}, 20'000ms); });
  CHECK(of_all_ranks(*zero.words->words, Size{5}, 20'000ms) == std::vector<Size>{5, 7});
  CHECK(said.get() == std::vector<Size>{5, 7});
  const std::string warning = errors.text();
  CHECK_THAT(warning, Contains("warning: a stranger connected to 127.0.0.1 port") &&
                          Contains("was sent away"));
  CHECK(std::ranges::count(warning, '\n') == 1);
}

TEST_CASE("a rank of another version that knows the job is refused on all hosts", "[comm]") {
  const MeetingPoint point = point_on_network();
  auto following = std::async(std::launch::async, [&] {
    const Descriptor rank = stranger_at(point, foreign_card(job_between_hosts(point.job)));
    return receive_message(rank, std::chrono::steady_clock::now() + 20s).text;
  });
  CHECK_THROWS_WITH(lead(point), Contains("rank 0 is ptbench 1, and rank 1 is ptbench 9"));
  CHECK(decode_answer(following.get())->refusal.has_value());
}

TEST_CASE("two hosts of one name are refused on both", "[comm]") {
  const MeetingPoint point = point_on_network();
  auto following = std::async(std::launch::async, [&] { return follow(point, 2, "a"); });
  const char* says = "ranks 0 and 1 are on two hosts that are both called 'a'";
  CHECK_THROWS_WITH(lead(point), Contains(says));
  CHECK_THROWS_WITH(following.get(), Contains(says));
}

TEST_CASE("a port that is taken is the reason why ranks of other hosts do not come", "[comm]") {
  MeetingPoint point = point_on_network();
  std::string why;
  const Descriptor other =
      listen_at(NetworkAddress{.host = "127.0.0.1", .port = point.address.port}, why);
  REQUIRE(other.is_open());
  const std::string reason = fmt::format(
      "rank 0 cannot listen for other hosts at 127.0.0.1 port {}: Address already in use",
      point.address.port);
  point.timeout = 100ms;
  RankGathering gathering(card_on("a", 0, 2), point);
  CHECK_THROWS_WITH(gathering.gather(), Contains("rank 1 of 2 did not come") && Contains(reason));
  point = point_on_network();
  point.hosts = HostsOfRanks::several;
  const Descriptor again =
      listen_at(NetworkAddress{.host = "127.0.0.1", .port = point.address.port}, why);
  CHECK_THROWS_WITH(RankGathering(card_on("a", 0, 2), point),
                    Contains("Address already in use, and ranks are on several hosts"));
}

TEST_CASE("rank 0 that ends before ranks have connected is missed at once", "[comm]") {
  MeetingPoint point = point_on_network();
  point.timeout = 10min;
  auto following = std::async(std::launch::async, [&] { return follow(point); });
  const OpenDoor open = open_door(point);
  RankCard card = card_on("a", 0, 2);
  card.job = point.job;
  {
    RankGathering gathering(card, point);
    gathering.gather();
    const PeerLinks links = gathering.admit(SharedRegion::create(2, 1), open.door);
  }
  CHECK_THROWS_WITH(following.get(), Contains("rank 0 on a ended before all ranks were connected"));
}

TEST_CASE("why ranks cannot connect is told to those that have", "[comm]") {
  const MeetingPoint point = point_on_network();
  auto following = std::async(std::launch::async, [&] { return follow(point, 3); });
  auto leaving = std::async(std::launch::async, [&] { (void)come(point, 2, 3, "c"); });
  const char* says = "rank 2 on c ended before all ranks were connected";
  CHECK_THROWS_WITH(lead(point, 3), Contains(says));
  CHECK_THROWS_WITH(following.get(), Contains(says));
  leaving.get();
}

TEST_CASE("nobody is admitted where there are too many hosts to tell of", "[comm]") {
  const MeetingPoint point = point_for(HostsOfRanks::any);
  const std::size_t length = kMostMessage * 2 / 3;
  auto following =
      std::async(std::launch::async, [&] { return come(point, 1, 2, std::string(length, 'b')); });
  RankCard card = card_on(std::string(length, 'a'), 0, 2);
  card.job = point.job;
  RankGathering gathering(card, point);
  gathering.gather();
  try {
    (void)gathering.admit(SharedRegion::create(2, 1), Door{.port = 1});
    FAIL("they were admitted");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Contains("more than rank 0 can send to the others"));
    gathering.refuse(error);
  }
  CHECK_THROWS_WITH(following.get(), Contains("more than rank 0 can send to the others"));
}

TEST_CASE("a rank that ends before it has connected ends rank 0, which names it", "[comm]") {
  const MeetingPoint point = point_for(HostsOfRanks::any);
  auto following = std::async(std::launch::async, [&] { (void)come(point, 1, 2, "b"); });
  CHECK_THROWS_WITH(lead(point), Contains("rank 1 on b ended before all ranks were connected"));
  following.get();
}

TEST_CASE("what ranks say of themselves is seen on other hosts", "[comm]") {
  auto [zero, one] = met();
  const PeerWatch of_zero(zero.region, std::move(zero.links), 20s);
  const PeerWatch of_one(one.region, std::move(one.links), 20s);
  PhaseBoard(one.region.phases()).enter(1, RankPhase::verifying);
  PhaseBoard(zero.region.phases()).enter(0, RankPhase::measuring);
  one.region.rank_block(1).started_on_device = 12;
  while (PhaseBoard(zero.region.phases()).phase(1) != RankPhase::verifying ||
         PhaseBoard(one.region.phases()).phase(0) != RankPhase::measuring ||
         zero.region.rank_block(1).started_on_device != 12)
    std::this_thread::sleep_for(1ms);
  one.region.give_up(1, "it has no more data");
  CHECK(surrender_seen_in(zero.region).rank == 1);
  CHECK(surrender_seen_in(zero.region).reason == "it has no more data");
}

TEST_CASE("the last word of a rank on another host is that it gave up", "[comm]") {
  auto [zero, one] = met();
  const PeerWatch of_one(one.region, std::move(one.links), 20s);
  {
    const PeerWatch of_zero(zero.region, std::move(zero.links), 20s);
    zero.region.give_up(0, "its disk is full");
  }
  CHECK(surrender_seen_in(one.region).reason == "its disk is full");
}

TEST_CASE("a rank that ends on another host is named with it", "[comm]") {
  auto [zero, one] = met();
  const PeerWatch of_zero(zero.region, std::move(zero.links), 20s);
  one.links.peers.clear();  // as the kernel does for a process that has died
  CHECK_THAT(surrender_seen_in(zero.region).reason,
             Contains("its process on b ended while starting"));
}

TEST_CASE("a host of which nothing is heard is named", "[comm]") {
  auto [zero, one] = met();
  // Its connection stays open, as where a link was cut.
  const PeerWatch of_zero(zero.region, std::move(zero.links), 1s);
  const GivenUp by = surrender_seen_in(zero.region);
  CHECK(by.rank == 1);
  CHECK(by.reason ==
        "nothing was heard from it on b for 0.75 s, while starting: its host may be down, or a "
        "link between a and b");
}

TEST_CASE("where ranks of several hosts all sleep, rank 0 gives up", "[comm]") {
  auto [zero, one] = met(point_on_network());
  const PeerWatch of_zero(zero.region, std::move(zero.links), 1500ms);
  const PeerWatch of_one(one.region, std::move(one.links), 1500ms);
  CHECK_THAT(surrender_seen_in(zero.region, 200ms).reason,
             Contains("made no progress within 1.5 s while starting"));
}

TEST_CASE("a rank is not missed while it says that it works on another host", "[comm]") {
  auto [zero, one] = met(point_on_network());
  const PeerWatch of_zero(zero.region, std::move(zero.links), 1500ms);
  const PeerWatch of_one(one.region, std::move(one.links), 1500ms);
  const auto end = std::chrono::steady_clock::now() + 4s;
  for (; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(50ms))
    ++one.region.rank_block(1).worked;
  CHECK(zero.region.given_up().value_or(GivenUp{}).reason == "");
}

TEST_CASE("ranks that must be on one host refuse others", "[comm]") {
  const MeetingPoint point = point_for(HostsOfRanks::one);
  auto following = std::async(std::launch::async, [&] { return follow(point); });
  CHECK_THROWS_WITH(lead(point), Contains("several hosts need a communicator between hosts"));
  CHECK_THROWS_WITH(following.get(), Contains("rank 0 is on a, rank 1 on b"));
}

TEST_CASE("ranks of one host meet there by an address that is none of its own", "[comm]") {
  for (const char* host : {"192.0.2.1", "no.such.host.invalid"}) {
    MeetingPoint point = point_for(HostsOfRanks::any);
    point.address = {
        .variables = "PTBENCH_ADDR", .variable = "PTBENCH_ADDR", .host = host, .port = 29'500};
    RankCard zero = card_on("a", 0, 2);
    zero.job = point.job;
    RankGathering gathering(zero, point);
    auto following = std::async(std::launch::async, [&] {
      RankCard one = card_on("a", 1, 2);
      one.job = point.job;
      one.local_rank = 1;
      return join_ranks(one, point);
    });
    gathering.gather();
    const PeerLinks links = gathering.admit(SharedRegion::create(2, 4096));
    CHECK(following.get().region.has_value());
  }
}

TEST_CASE("a rank whose communicator takes one host does not wait for rank 0 of another",
          "[comm]") {
  MeetingPoint point = point_for(HostsOfRanks::one);
  point.timeout = 10min;
  point.address = {
      .variables = "PTBENCH_ADDR", .variable = "PTBENCH_ADDR", .host = "192.0.2.1", .port = 29'500};
  CHECK_THROWS_WITH(come(point, 1, 2, "b"),
                    Contains("PTBENCH_ADDR is '192.0.2.1', which is another: several hosts need a "
                             "communicator between hosts"));
}

TEST_CASE("an address that other hosts cannot reach is refused where there are some", "[comm]") {
  MeetingPoint point = point_for(HostsOfRanks::several);
  point.address = {
      .variables = "PTBENCH_ADDR", .variable = "PTBENCH_ADDR", .host = "localhost", .port = 29'500};
  CHECK_THROWS_WITH(RankGathering(card_on("a", 0, 2), point),
                    Contains("PTBENCH_ADDR is 'localhost', which is this host for itself alone"));
}

}  // namespace
}  // namespace ptbench
