#include "src/process/host_lookup.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <csignal>
#include <future>
#include <thread>
#include <utility>

namespace ptbench {
namespace {

HostLookUp ask(const std::string& host, std::uint16_t port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &wanted, &found);
  if (error != 0)
    return {.addresses = nullptr, .may_exist = error == EAI_AGAIN, .why = gai_strerror(error)};
  return {.addresses = {found, freeaddrinfo}, .may_exist = true};
}

/// While it lives, this thread and those that it makes take no signals.
class Undisturbed {
 public:
  Undisturbed() {
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Undisturbed() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

HostLookUp look_up(const std::string& host, std::uint16_t port,
                   std::chrono::steady_clock::time_point end) {
  if (HostLookUp plain = ask(host, port, AI_NUMERICHOST); plain.addresses) return plain;
  std::packaged_task<HostLookUp()> task([host, port] { return ask(host, port, 0); });
  std::future<HostLookUp> answer = task.get_future();
  {
    const Undisturbed undisturbed;
    std::thread(std::move(task)).detach();
  }
  if (answer.wait_until(end) == std::future_status::ready) return answer.get();
  return {.addresses = nullptr, .may_exist = true, .why = "the resolver does not answer"};
}

}  // namespace ptbench
