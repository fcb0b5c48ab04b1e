#include "src/process/outbox.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "src/process/local_socket.h"
#include "src/process/network_socket.h"

namespace ptbench {

void Outbox::send_to(const Descriptor& socket) {
  const bool is_stream = is_network_socket(socket);
  while (!messages_.empty()) {
    const std::string& text = messages_.front();
    const std::string bytes = is_stream ? framed(text) : text;
    const ssize_t part = send(socket.number(), bytes.data() + sent_, bytes.size() - sent_,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (part < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (part < 0) {
      // What comes after half a message could not be told from its rest.
      if (is_stream && sent_ > 0) (void)shutdown(socket.number(), SHUT_RDWR);
      messages_.clear();
      sent_ = 0;
      return;
    }
    sent_ += static_cast<std::size_t>(part);
    if (sent_ < bytes.size()) continue;
    messages_.pop_front();
    sent_ = 0;
  }
}

void Outbox::send_all_to(const Descriptor& socket, std::chrono::steady_clock::time_point end) {
  for (;;) {
    send_to(socket);
    if (messages_.empty() || std::chrono::steady_clock::now() >= end) return;
    pollfd event{.fd = socket.number(), .events = POLLOUT, .revents = 0};
    (void)poll(&event, 1, poll_timeout(end));
  }
}

}  // namespace ptbench
