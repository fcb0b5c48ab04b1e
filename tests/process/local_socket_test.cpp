#include "src/process/local_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <iterator>

namespace ptbench {
namespace {

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

/// Sends "x" with this process's standard streams.
bool send_streams(const Descriptor& socket) {
  constexpr std::array<int, 3> kStreams{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  char text = 'x';
  iovec part{.iov_base = &text, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof kStreams)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof kStreams);
  std::memcpy(CMSG_DATA(header), kStreams.data(), sizeof kStreams);
  return sendmsg(socket.number(), &message, MSG_NOSIGNAL) == 1;
}

TEST_CASE("of many descriptors with a message one is taken, and none is left open", "[process]") {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const Descriptor one(ends[0]);
  const Descriptor other(ends[1]);
  const std::ptrdiff_t before = open_descriptors();
  for (int times = 0; times < 3; ++times) {
    REQUIRE(send_streams(one));
    CHECK(peek_message(other).text == "x");
    CHECK(open_descriptors() == before);
    const SocketMessage message = receive_message(other);
    CHECK(message.text == "x");
    CHECK(message.descriptor.is_open());
    CHECK(open_descriptors() == before + 1);
  }
  CHECK(open_descriptors() == before);
}

}  // namespace
}  // namespace ptbench
