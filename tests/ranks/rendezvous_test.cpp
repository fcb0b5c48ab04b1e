// Ranks that meet: threads of this process, each with its own end of the sockets.
#include "src/ranks/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/process/child_process.h"
#include "src/process/local_socket.h"
#include "src/ranks/peer_watch.h"

namespace ptbench {
namespace {

using Catch::Contains;
using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::chrono::milliseconds kLongMeeting = 10min;

/// A job of its own for each test and process.
std::string new_job() {
  static int count = 0;
  return fmt::format("test {} {}", getpid(), ++count);
}

RankCard card_of(const std::string& job, Size rank, Size world_size) {
  return {.version = "ptbench 1",
          .job = job,
          .host = "here",
          .rank = rank,
          .world_size = world_size,
          .local_rank = rank == 0 ? world_size - 1 : rank - 1,
          .cpus = {0, 1},
          .options = {{"strategy", "ddp"}, {"batch-size", "64"}}};
}

MeetingPoint point_of(const std::string& job, std::chrono::milliseconds timeout = 10s) {
  return {.job = job, .place = "PTBENCH_ADDR here:1", .timeout = timeout};
}

/// What a rank met with: an error, or nothing.
using Outcome = std::optional<Error>;

template <class Body>
std::shared_future<Outcome> in_thread(Body body) {
  return std::async(std::launch::async,
                    [body = std::move(body)]() -> Outcome {
                      try {
                        body();
                        return std::nullopt;
                      } catch (const Error& error) {
                        return error;
                      }
                    })
      .share();
}

std::shared_future<Outcome> rank_zero(const RankCard& card, const MeetingPoint& point) {
  return in_thread([=] {
    RankGathering gathering(card, point);
    gathering.gather();
    (void)gathering.admit(SharedRegion::create(card.world_size, 4096));
  });
}

std::shared_future<Outcome> other_rank(const RankCard& card, const MeetingPoint& point) {
  return in_thread([=] { (void)join_ranks(card, point); });
}

std::string message(const std::shared_future<Outcome>& outcome) {
  const Outcome& error = outcome.get();
  return error ? error->what() : "";
}

/// Both ranks of a pair that must not become one, which are told the same.
Error common_refusal(const RankCard& first, const RankCard& second) {
  const MeetingPoint point = point_of(first.job);
  auto zero = rank_zero(first, point);
  auto one = other_rank(second, point);
  const Outcome& told = one.get();
  const Outcome& own = zero.get();
  REQUIRE(told.has_value());
  REQUIRE(own.has_value());
  CHECK(told->code() == own->code());
  CHECK(std::string(told->what()) == own->what());
  CHECK(told->remedy() == own->remedy());
  return *own;
}

/// A connection to whoever listens for `job`, as soon as somebody does.
Descriptor stranger_to(const std::string& job) {
  for (;;) {
    int error_number = 0;
    Descriptor socket = connect_to(socket_name(job), error_number);
    if (socket.is_open()) return socket;
    std::this_thread::sleep_for(1ms);
  }
}

SocketMessage last_word(const Descriptor& socket) {
  return receive_message(socket, std::chrono::steady_clock::now() + 10s);
}

/// Waits until somebody gave up.
GivenUp surrender_in(const SharedRegion& region, std::chrono::milliseconds pause = 1ms) {
  for (;;) {
    if (const auto given_up = region.given_up()) return *given_up;
    std::this_thread::sleep_for(pause);
  }
}

/// A process that does nothing, in a rank's place.
ChildProcess idle_process() {
  return ChildProcess({.program = "/bin/sleep", .arguments = {"1000"}});
}

/// A pair that has met.
struct Pair {
  explicit Pair(const std::string& job) {
    RankGathering gathering(card_of(job, 0, 2), point_of(job));
    auto joining = std::async(std::launch::async,
                              [&] { return join_ranks(card_of(job, 1, 2), point_of(job)); });
    gathering.gather();
    links = gathering.admit(region);
    other.emplace(joining.get());
  }
  SharedRegion region = SharedRegion::create(2, 4096);
  PeerLinks links;
  std::optional<Admission> other;
};

}  // namespace

TEST_CASE("ranks that meet share rank 0's memory", "[comm]") {
  const std::string job = new_job();
  RankCard zero = card_of(job, 0, 3);
  RankCard one = card_of(job, 1, 3);
  RankCard two = card_of(job, 2, 3);
  two.cpus = {2, 3, 4, 5};
  auto second = std::async(std::launch::async, [&] { return join_ranks(two, point_of(job)); });
  auto first = std::async(std::launch::async, [&] { return join_ranks(one, point_of(job)); });
  RankGathering gathering(zero, point_of(job));
  gathering.gather();
  const SharedRegion region = SharedRegion::create(3, 4096);
  const PeerLinks links = gathering.admit(region);
  const Admission of_one = first.get();
  const Admission of_two = second.get();
  region.phases()[2].store(7);
  CHECK(of_one.region->phases()[2].load() == 7);
  CHECK(of_two.region->world_size() == 3);
  CHECK(links.peers.size() == 2);
  CHECK(of_two.links.peers.size() == 1);
  // Ranks 0 and 1 share two cores, rank 2 has four of its own.
  CHECK(gathering.welcome().cores == CoreShare{.cores = 6, .threads = 1, .index = 0});
  CHECK(of_one.welcome.cores == CoreShare{.cores = 6, .threads = 1, .index = 1});
  CHECK(of_two.welcome.cores == CoreShare{.cores = 6, .threads = 1, .index = 0});
  CHECK(gathering.welcome().local_ranks == std::vector<Size>{2, 0, 1});
  CHECK(of_one.welcome.local_ranks == gathering.welcome().local_ranks);
}

TEST_CASE("ranks that say the same local rank are refused", "[comm]") {
  const std::string job = new_job();
  RankCard zero = card_of(job, 0, 2);
  zero.local_rank = 0;
  const Error refusal = common_refusal(zero, card_of(job, 1, 2));
  CHECK(refusal.code() == ExitCode::usage);
  CHECK_THAT(refusal.what(), Contains("ranks 0 and 1 both say that they are local rank 0"));
}

TEST_CASE("ranks of different worlds refuse each other", "[comm]") {
  const std::string job = new_job();
  const Error error = common_refusal(card_of(job, 0, 2), card_of(job, 1, 3));
  CHECK(error.code() == ExitCode::usage);
  CHECK_THAT(error.what(), Contains("rank 0 was started as one of 2 ranks, rank 1 as one of 3"));
}

TEST_CASE("ranks with different options are told the first that differs", "[comm]") {
  const auto told = [](const std::vector<NamedAssignment>& first,
                       const std::vector<NamedAssignment>& second) {
    const std::string job = new_job();
    RankCard zero = card_of(job, 0, 2);
    RankCard one = card_of(job, 1, 2);
    zero.options = first;
    one.options = second;
    const Error error = common_refusal(zero, one);
    CHECK(error.code() == ExitCode::usage);
    return std::string(error.what());
  };
  CHECK(told({{"seed", "1"}, {"batch-size", "64"}}, {{"batch-size", "32"}, {"seed", "1"}}) ==
        "ranks 0 and 1 were started with different options: --batch-size 64 / 32");
  CHECK_THAT(told({}, {{"seed", "1"}}), Contains("--seed not given / 1"));
  CHECK_THAT(told({{"fast", ""}}, {}), Contains("--fast given / not given"));
  const std::string long_text(kMostMessage, 'x');
  CHECK_THAT(told({{"data", "a"}}, {{"data", long_text}}), Contains("different options"));
}

TEST_CASE("options in another order are the same", "[comm]") {
  const std::string job = new_job();
  RankCard one = card_of(job, 1, 2);
  std::swap(one.options.front(), one.options.back());
  auto zero = rank_zero(card_of(job, 0, 2), point_of(job));
  auto other = other_rank(one, point_of(job));
  CHECK(message(zero).empty());
  CHECK(message(other).empty());
}

TEST_CASE("another version, another host and an impossible rank are refused on both", "[comm]") {
  const std::string job = new_job();
  RankCard one = card_of(job, 1, 2);
  one.version = "ptbench 2";
  CHECK_THAT(common_refusal(card_of(job, 0, 2), one).what(),
             Contains("rank 0 is ptbench 1, and rank 1 is ptbench 2"));
  one = card_of(job, 1, 2);
  one.host = "there";
  const Error error = common_refusal(card_of(job, 0, 2), one);
  CHECK(error.code() == ExitCode::capability);
  CHECK_THAT(error.what(), Contains("rank 0 is on here, rank 1 on there") &&
                               Contains("several hosts need a communicator between hosts"));
  CHECK_THAT(common_refusal(card_of(job, 0, 2), card_of(job, 2, 2)).what(),
             Contains("rank 2 is not one of 2 ranks"));
}

TEST_CASE("a rank that comes twice ends all", "[comm]") {
  const std::string job = new_job();
  auto zero = rank_zero(card_of(job, 0, 3), point_of(job));
  auto one = other_rank(card_of(job, 1, 3), point_of(job));
  auto again = other_rank(card_of(job, 1, 3), point_of(job));
  for (auto* outcome : {&zero, &one, &again})
    CHECK_THAT(message(*outcome), Contains("rank 1 was started twice"));
}

TEST_CASE("a second rank 0 ends both while they wait", "[comm]") {
  const std::string job = new_job();
  auto zero = rank_zero(card_of(job, 0, 2), point_of(job));
  auto again = rank_zero(card_of(job, 0, 2), point_of(job));
  CHECK_THAT(message(zero), Contains("rank 0 was started twice"));
  CHECK_THAT(message(again), Contains("rank 0 was started twice"));
}

TEST_CASE("ranks that never come are named", "[comm]") {
  const std::string job = new_job();
  auto one = other_rank(card_of(job, 1, 4), point_of(job));
  auto zero = rank_zero(card_of(job, 0, 4), point_of(job, 500ms));
  const Outcome& error = zero.get();
  REQUIRE(error.has_value());
  CHECK(error->code() == ExitCode::failed);
  CHECK_THAT(error->what(), Contains("ranks 2 and 3 of 4 did not come") && Contains("0.5 s"));
  CHECK_THAT(message(one), Contains("ranks 2 and 3 of 4 did not come"));
}

TEST_CASE("rank 0 that never comes is missed", "[comm]") {
  const std::string job = new_job();
  CHECK_THAT(message(other_rank(card_of(job, 1, 2), point_of(job, 100ms))),
             Contains("rank 0 did not come to PTBENCH_ADDR here:1 within 0.1 s"));
}

TEST_CASE("an address that cannot be this host's is named when nobody came", "[comm]") {
  const std::string job = new_job();
  MeetingPoint point = point_of(job, 100ms);
  // An address of documentation, which no host has (RFC 5737).
  point.address = {
      .variables = "MASTER_ADDR and MASTER_PORT", .variable = "MASTER_ADDR", .host = "192.0.2.1"};
  const std::string wrong = message(other_rank(card_of(job, 1, 2), point));
  CHECK_THAT(wrong,
             Contains("rank 0 did not come to ") &&
                 Contains("MASTER_ADDR is '192.0.2.1', which is not an address of this host"));
  CHECK_THAT(message(rank_zero(card_of(job, 0, 2), point)), Contains("MASTER_ADDR is '192.0.2.1'"));
}

TEST_CASE("ranks that wait under unlike addresses of this host learn of each other", "[comm]") {
  const std::string here = new_job();
  const std::string there = new_job();
  const MeetingAddress address{
      .variables = "PTBENCH_ADDR", .variable = "PTBENCH_ADDR", .host = "127.0.0.1"};
  auto zero = rank_zero(card_of(here, 0, 2), point_of(here, 2000ms));
  MeetingPoint point = point_of(there, 500ms);
  point.address = address;
  CHECK_THAT(message(other_rank(card_of(there, 1, 2), point)),
             Contains("other ranks wait on this host under another PTBENCH_ADDR"));
  CHECK(zero.get().has_value());
}

TEST_CASE("a rank that ends while others are awaited ends all", "[comm]") {
  const std::string job = new_job();
  auto zero = rank_zero(card_of(job, 0, 3), point_of(job));
  Descriptor one = stranger_to(job);
  REQUIRE(send_message(one, encode(card_of(job, 1, 3))));
  one.close();
  CHECK_THAT(message(zero), Contains("rank 1 ended before all ranks had come"));
}

TEST_CASE("rank 0 that ends while others wait is missed", "[comm]") {
  const std::string job = new_job();
  int error_number = 0;
  Descriptor listener = listen_at(socket_name(job), error_number);
  REQUIRE(listener.is_open());
  auto one = other_rank(card_of(job, 1, 2), point_of(job));
  Descriptor accepted;
  while (!accepted.is_open()) accepted = accept_from(listener);
  CHECK(last_word(accepted).kind == SocketMessage::Kind::text);
  accepted.close();
  CHECK_THAT(message(one), Contains("rank 0 ended before all ranks had come"));
}

TEST_CASE("garbage is sent away, and does not disturb the ranks", "[comm]") {
  const std::string job = new_job();
  auto zero = rank_zero(card_of(job, 0, 2), point_of(job));
  const std::string greeting = encode(card_of(job, 1, 2));
  std::vector<std::string> messages{"x", std::string(4, '\0'), std::string(kMostMessage + 1, 'x'),
                                    greeting.substr(0, greeting.size() - 3),
                                    encode(card_of("another job", 1, 2))};
  RankCard odd = card_of(job, 1, 2);
  odd.rank = 1'000'000;
  messages.push_back(encode(odd));
  for (const std::string& garbage : messages) {
    const Descriptor stranger = stranger_to(job);
    REQUIRE(send_message(stranger, garbage));
    const auto answer = decode_answer(last_word(stranger).text);
    REQUIRE(answer.has_value());
    CHECK(answer->busy);
  }
  const Descriptor silent = stranger_to(job);
  CHECK(message(other_rank(card_of(job, 1, 2), point_of(job))).empty());
  CHECK(message(zero).empty());
}

TEST_CASE("a flood of strangers who say nothing keeps no rank out", "[comm]") {
  const std::string job = new_job();
  auto zero = rank_zero(card_of(job, 0, 2), point_of(job));
  std::vector<Descriptor> silent;
  for (int count = 0; count < 200; ++count) silent.push_back(stranger_to(job));
  CHECK(message(other_rank(card_of(job, 1, 2), point_of(job))).empty());
  CHECK(message(zero).empty());
  // Those who wait are told, the first as well as the last.
  for (const Descriptor* stranger : {&silent.front(), &silent.back()}) {
    const auto answer = decode_answer(last_word(*stranger).text);
    REQUIRE(answer.has_value());
    CHECK(answer->busy);
  }
}

TEST_CASE("answers are read with the same care", "[comm]") {
  CHECK_FALSE(decode_answer(""));
  CHECK_FALSE(decode_answer("ptbench rank"));
  CHECK_FALSE(decode_answer("ptbench rank\0welcome\0"s));
  CHECK_FALSE(decode_answer("ptbench rank\0welcome\0x\0001\0000\0"s));
  const auto refused = decode_answer(encode_refusal(usage_error("no\nroom", "go")));
  REQUIRE(refused.has_value());
  REQUIRE(refused->refusal.has_value());
  CHECK(std::string(refused->refusal->what()) == "no\\x0aroom");
  CHECK(refused->refusal->code() == ExitCode::usage);
  const CoreShare cores{.cores = 4, .threads = 2, .index = 1};
  const Door door{.port = 29'500, .secret = ~std::uint64_t{0}};
  const auto admitted = decode_answer(
      encode({.cores = cores, .local_ranks = {1, 0}, .hosts = {"a", "b"}, .door = door}));
  REQUIRE(admitted.has_value());
  CHECK(admitted->welcome.cores == cores);
  CHECK(admitted->welcome.local_ranks == std::vector<Size>{1, 0});
  CHECK(admitted->welcome.hosts == std::vector<std::string>{"a", "b"});
  CHECK(admitted->welcome.door == door);
}

TEST_CASE("an older protocol still says its version", "[comm]") {
  const std::string older = "ptbench rank\0000\0ptbench 0.9\0001\0"s;
  const auto introduction = decode_card(older);
  REQUIRE(introduction.has_value());
  CHECK_FALSE(introduction->speaks_alike);
  CHECK(introduction->card.version == "ptbench 0.9");
  CHECK(introduction->card.rank == 1);
}

TEST_CASE("who comes to a job that is complete is told that the place is taken", "[comm]") {
  const std::string job = new_job();
  Pair pair(job);
  const PeerWatch watch(pair.region, std::move(pair.links), kLongMeeting);
  CHECK_THAT(message(other_rank(card_of(job, 1, 2), point_of(job, 100ms))),
             Contains("another job uses PTBENCH_ADDR here:1"));
  CHECK_THAT(message(rank_zero(card_of(job, 0, 2), point_of(job))),
             Contains("another job uses PTBENCH_ADDR here:1"));
}

TEST_CASE("a place where something else listens is taken", "[comm]") {
  const std::string job = new_job();
  int error_number = 0;
  const Descriptor listener = listen_at(socket_name(job), error_number);
  REQUIRE(listener.is_open());
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      const Descriptor caller = accept_from(listener);
      if (caller.is_open()) (void)send_message(caller, "nonsense");
      std::this_thread::sleep_for(1ms);
    }
  });
  const std::string zero = message(rank_zero(card_of(job, 0, 2), point_of(job)));
  const std::string one = message(other_rank(card_of(job, 1, 2), point_of(job, 100ms)));
  stop = true;
  other.join();
  CHECK_THAT(zero, Contains("another job uses PTBENCH_ADDR here:1"));
  CHECK_THAT(one, Contains("another job uses PTBENCH_ADDR here:1"));
}

TEST_CASE("a rank whose process ends is given up for, with its host and phase", "[comm]") {
  Pair pair(new_job());
  pair.region.phases()[1].store(static_cast<std::uint32_t>(RankPhase::measuring));
  const PeerWatch watch(pair.region, std::move(pair.links), kLongMeeting);
  pair.other.reset();  // as the kernel does for a process that has died
  const GivenUp given_up = surrender_in(pair.region);
  CHECK(given_up.rank == 1);
  CHECK(given_up.reason == "its process on here ended while measuring");
}

TEST_CASE("the others miss rank 0 as well", "[comm]") {
  Pair pair(new_job());
  const PeerWatch watch(*pair.other->region, std::move(pair.other->links), kLongMeeting);
  pair.links = {};
  CHECK(surrender_in(pair.region).rank == 0);
}

TEST_CASE("a rank that says goodbye is not missed", "[comm]") {
  const std::string job = new_job();
  Pair pair(job);
  auto zero = std::make_unique<PeerWatch>(pair.region, std::move(pair.links), kLongMeeting);
  {
    const PeerWatch one(*pair.other->region, std::move(pair.other->links), kLongMeeting);
  }
  // Whoever comes now is answered after the goodbye was read.
  const Descriptor late = stranger_to(job);
  CHECK(decode_answer(last_word(late).text)->busy);
  zero.reset();
  CHECK_FALSE(pair.region.given_up());
}

TEST_CASE("both ends of a link know each other's process", "[comm]") {
  const Pair pair(new_job());
  CHECK(pair.links.peers.front().process == getpid());
  CHECK(pair.other->links.peers.front().process == getpid());
}

TEST_CASE("a rank that is stopped is given up for and killed", "[comm]") {
  Pair pair(new_job());
  ChildProcess stopped = idle_process();
  stopped.send(SIGSTOP);
  pair.region.phases()[0].store(static_cast<std::uint32_t>(RankPhase::choosing));
  pair.other->links.peers.front().process = stopped.id();
  const PeerWatch watch(*pair.other->region, std::move(pair.other->links), 200ms);
  const GivenUp given_up = surrender_in(pair.region);
  CHECK(given_up.rank == 0);
  CHECK(
      given_up.reason ==
      "its process on here made no progress within 0.2 s while choosing operators: it is stopped");
  const auto ended = stopped.wait(1min);
  REQUIRE(ended.has_value());
  CHECK(ended->signal == SIGKILL);
  CHECK_FALSE(watch.stopped_peer());
}

TEST_CASE("ranks that failed as another is stopped can say so, and it does not stay", "[comm]") {
  Pair pair(new_job());
  ChildProcess stopped = idle_process();
  pair.links.peers.front().process = stopped.id();
  {
    const PeerWatch watch(pair.region, std::move(pair.links), kLongMeeting);
    CHECK_FALSE(watch.stopped_peer());
    stopped.send(SIGSTOP);
    while (!watch.stopped_peer()) std::this_thread::sleep_for(1ms);
    CHECK(watch.stopped_peer() == "rank 1 on here, while starting, is stopped");
    pair.region.give_up(0, "rank 1 did not come");
  }
  const auto ended = stopped.wait(1min);
  REQUIRE(ended.has_value());
  CHECK(ended->signal == SIGKILL);
}

TEST_CASE("where all ranks sleep and none makes progress, rank 0 gives up", "[comm]") {
  Pair pair(new_job());
  const ChildProcess idle = idle_process();
  pair.links.peers.front().process = idle.id();
  const PeerWatch watch(pair.region, std::move(pair.links), 1ms);
  CHECK_THAT(surrender_in(pair.region, 200ms).reason,
             Contains("made no progress within 0.001 s while starting"));
}

TEST_CASE("a rank that is busy when another gives up is asked to leave, then to end", "[comm]") {
  Pair pair(new_job());
  std::promise<void> asked;
  std::promise<std::string> told;
  const PeerWatch watch(pair.region, std::move(pair.links), kLongMeeting,
                        {.leave = [&] { asked.set_value(); },
                         .end = [&](const GivenUp& by) { told.set_value(by.reason); }});
  pair.region.give_up(1, "no more");
  asked.get_future().wait();
  CHECK(told.get_future().get() == "no more");
}

}  // namespace ptbench
