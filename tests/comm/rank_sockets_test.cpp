// How ranks come to connections among them, whoever else connects.
#include "src/comm/star/rank_sockets.h"

#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "tests/comm/listening_sockets.h"
#include "tests/comm/meeting.h"
#include "tests/support/communicators.h"

namespace ptbench::testing {
namespace {

InterfaceAddress loopback() {
  InterfaceAddress address{.length = sizeof(sockaddr_in)};
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  reinterpret_cast<sockaddr_in&>(address.bytes) = inet;
  return address;
}

/// What comes over a connection within some time; 255: nothing.
unsigned char byte_from(const RankSocket& socket) {
  pollfd event{.fd = socket.number(), .events = POLLIN, .revents = 0};
  unsigned char byte = 255;
  if (poll(&event, 1, static_cast<int>(kTimeout.count())) != 1 ||
      recv(socket.number(), &byte, 1, 0) != 1)
    return 255;
  return byte;
}

/// Each rank tells every other its number. How many hear something else.
int wrong_numbers(Communicator& communicator, const std::vector<RankSocket>& connections) {
  const auto own = static_cast<std::size_t>(communicator.rank());
  const auto number = static_cast<unsigned char>(own);
  int wrong = connections[own].is_open() ? 1 : 0;
  for (std::size_t rank = 0; rank < connections.size(); ++rank)
    if (rank != own && send(connections[rank].number(), &number, 1, MSG_NOSIGNAL) != 1) ++wrong;
  for (std::size_t rank = 0; rank < connections.size(); ++rank)
    if (rank != own && byte_from(connections[rank]) != rank) ++wrong;
  return wrong;
}

/// Connects and says that.
RankSocket stranger_at(const sockaddr_storage& address, std::string_view words) {
  RankSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(sockaddr_in)) !=
          0 ||
      send(socket.number(), words.data(), words.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(words.size()))
    throw run_error("a stranger could not connect");
  return socket;
}

std::vector<sockaddr_storage> await_listeners(std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  std::vector<sockaddr_storage> found;
  while ((found = listening_sockets()).size() < count) {
    if (std::chrono::steady_clock::now() >= end) throw run_error("nobody listens");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return found;
}

TEST_CASE("ranks that connect to each other know who is who", "[comm]") {
  for (const Size size : {2, 3, 5}) {
    std::atomic<int> wrong = 0;
    ThreadGroup(size).run([&](SharedMemoryCommunicator& host) {
      for (int round = 0; round < 3; ++round) {
        const auto connections = connect_ranks(host, loopback(), kTimeout);
        wrong += wrong_numbers(host, connections);
        meet(host);
        if (host.rank() == 0) wrong += static_cast<int>(listening_sockets().size());
        meet(host);
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("strangers who come before the ranks do are sent away", "[comm]") {
  // Nothing, nonsense, less than a greeting, as much as one.
  const std::array<std::string, 4> words{"", "GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n", "12345",
                                         std::string(24, '\0')};
  std::atomic<int> wrong = 0;
  std::vector<RankSocket> strangers;
  ThreadGroup(3).run([&](SharedMemoryCommunicator& host) {
    // The others listen, and wait for rank 2.
    if (host.rank() == 2)
      for (const sockaddr_storage& address : await_listeners(2))
        for (std::size_t i = 0; i < 200; ++i)
          strangers.push_back(stranger_at(address, words.at(i % words.size())));
    const auto connections = connect_ranks(host, loopback(), kTimeout);
    wrong += wrong_numbers(host, connections);
  });
  CHECK(wrong == 0);
  for (const RankSocket& stranger : strangers) {
    pollfd event{.fd = stranger.number(), .events = POLLIN, .revents = 0};
    char byte = 0;
    if (poll(&event, 1, static_cast<int>(kTimeout.count())) != 1 ||
        recv(stranger.number(), &byte, 1, 0) > 0)
      ++wrong;
  }
  CHECK(strangers.size() == 400);
  CHECK(wrong == 0);
}

TEST_CASE("ranks that cannot listen say where", "[comm]") {
  InterfaceAddress elsewhere = loopback();
  // Kept for documentation: no host has it.
  reinterpret_cast<sockaddr_in&>(elsewhere.bytes).sin_addr.s_addr = htonl(0xc0000201U);
  const auto failures = ThreadGroup(2).failures(
      [&](SharedMemoryCommunicator& host) { (void)connect_ranks(host, elsewhere, kTimeout); });
  CHECK_THAT(message_of(failures.front()), Catch::Contains("listen at 192.0.2.1:0"));
}

}  // namespace
}  // namespace ptbench::testing
