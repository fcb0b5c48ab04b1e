#include "src/process/network_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "src/process/outbox.h"

namespace ptbench {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// A connection of this process to itself.
struct Connection {
  Connection() {
    std::string why;
    const Descriptor listener = listen_at(NetworkAddress{.host = "127.0.0.1"}, why);
    CAPTURE(why);
    REQUIRE(listener.is_open());
    one = connect_to(own_address(listener), steady_clock::now() + 10s, why);
    REQUIRE(one.is_open());
    while (!other.is_open()) other = accept_from(listener);
  }
  Descriptor one;
  Descriptor other;
};

SocketMessage next_of(const Descriptor& socket) {
  return receive_message(socket, steady_clock::now() + 10s);
}

bool is_readable(const Descriptor& socket) {
  pollfd event{.fd = socket.number(), .events = POLLIN, .revents = 0};
  return poll(&event, 1, 100) > 0;
}

TEST_CASE("messages between hosts come whole and in order", "[process]") {
  const Connection pair;
  const std::string longest(kMostMessage, 'x');
  REQUIRE(send_message(pair.one, "first"));
  REQUIRE(send_message(pair.one, longest));
  REQUIRE(send_message(pair.one, "last"));
  CHECK_FALSE(send_message(pair.one, longest + "x"));
  CHECK(next_of(pair.other).text == "first");
  CHECK(next_of(pair.other).text == longest);
  CHECK(next_of(pair.other).text == "last");
  CHECK(receive_message(pair.other).kind == SocketMessage::Kind::none_yet);
  CHECK(is_network_socket(pair.one));
  CHECK_FALSE(belongs_to_this_user(pair.one));
  CHECK(peer_process(pair.one) == 0);
}

TEST_CASE("a message of which only a part has come is awaited without being read", "[process]") {
  Connection pair;
  const std::string begin("\x05\0\0\0he", 6);
  REQUIRE(send(pair.one.number(), begin.data(), begin.size(), 0) == std::ssize(begin));
  REQUIRE(is_readable(pair.other));
  CHECK(receive_message(pair.other).kind == SocketMessage::Kind::none_yet);
  CHECK_FALSE(is_readable(pair.other));  // so that nobody who polls for it spins
  REQUIRE(send(pair.one.number(), "llo", 3, 0) == 3);
  CHECK(next_of(pair.other).text == "hello");
  REQUIRE(send(pair.one.number(), begin.data(), begin.size(), 0) == std::ssize(begin));
  pair.one.close();
  CHECK(next_of(pair.other).kind == SocketMessage::Kind::closed);
}

TEST_CASE("a connection that ends, or talks nonsense, is closed", "[process]") {
  Connection pair;
  REQUIRE(send_message(pair.one, "goodbye"));
  pair.one.close();
  CHECK(next_of(pair.other).text == "goodbye");
  CHECK(next_of(pair.other).kind == SocketMessage::Kind::closed);
  const Connection nonsense;
  REQUIRE(send(nonsense.one.number(), "GET / HTTP/1.1", 14, 0) == 14);
  CHECK(next_of(nonsense.other).kind == SocketMessage::Kind::closed);
}

TEST_CASE("a message that is only looked at stays", "[process]") {
  Connection pair;
  CHECK(peek_message(pair.other).kind == SocketMessage::Kind::none_yet);
  REQUIRE(send_message(pair.one, "refused"));
  REQUIRE(is_readable(pair.other));
  CHECK(peek_message(pair.other).text == "refused");
  CHECK(next_of(pair.other).text == "refused");
  pair.one.close();
  REQUIRE(is_readable(pair.other));
  CHECK(peek_message(pair.other).kind == SocketMessage::Kind::closed);
}

TEST_CASE("no descriptor is said to have been sent to another host", "[process]") {
  const Connection pair;
  CHECK_FALSE(send_message(pair.one, "memory", pair.one.number()));
  CHECK(receive_message(pair.other).kind == SocketMessage::Kind::none_yet);
}

TEST_CASE("who is slow to read gets all messages, and nobody waits for it", "[process]") {
  const Connection pair;
  Outbox outbox;
  const std::string longest(kMostMessage, 'x');
  int added = 0;
  for (; outbox.is_empty(); ++added) {
    outbox.add(longest);
    outbox.send_to(pair.one);
  }
  outbox.add("last");
  int received = 0;
  const auto end = steady_clock::now() + 60s;
  for (std::string text; text != "last" && steady_clock::now() < end;) {
    outbox.send_to(pair.one);
    const SocketMessage message = receive_message(pair.other, steady_clock::now() + 1ms);
    if (message.kind == SocketMessage::Kind::none_yet) continue;
    text = message.text;
    REQUIRE((text == longest || text == "last"));
    ++received;
  }
  CHECK(received == added + 1);
  CHECK(outbox.is_empty());
}

TEST_CASE("what cannot be sent any more is dropped", "[process]") {
  Connection pair;
  pair.other.close();
  Outbox outbox;
  const auto end = steady_clock::now() + 10s;
  do {
    outbox.add("nobody reads this");
    outbox.send_to(pair.one);
  } while (send_message(pair.one, "x") && steady_clock::now() < end);
  outbox.add("nor this");
  outbox.send_to(pair.one);
  CHECK(outbox.is_empty());
}

TEST_CASE("addresses are told from names, and from what is neither", "[process]") {
  const auto end = steady_clock::now() + kLongestLookUp;
  CHECK(look_up("::1", 1, end).addresses != nullptr);
  CHECK(look_up("localhost", 1, end).addresses != nullptr);
  const HostLookUp nowhere = look_up("no.such.host.invalid", 1, end);
  CHECK(nowhere.addresses == nullptr);
  CHECK_FALSE(nowhere.why.empty());
}

TEST_CASE("who does not answer is told apart from who has no name", "[process]") {
  std::string why;
  Descriptor listener = listen_at(NetworkAddress{.host = "127.0.0.1"}, why);
  const NetworkAddress address = own_address(listener);
  CHECK(address.host == "127.0.0.1");
  const Descriptor socket = connect_to(address, steady_clock::now() + 10s, why);
  CHECK(peer_address(socket).port == address.port);
  CHECK_FALSE(listen_at(address, why).is_open());
  CHECK(why == "Address already in use");
  listener.close();
  CHECK_FALSE(connect_to(address, steady_clock::now() + 1s, why).is_open());
  CHECK(why == "Connection refused");
  CHECK_FALSE(
      connect_to({.host = "no.such.host.invalid", .port = 1}, steady_clock::now(), why).is_open());
  CHECK_FALSE(why.empty());
}

}  // namespace
}  // namespace ptbench
