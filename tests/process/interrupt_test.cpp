#include "src/process/interrupt.h"

#include <catch2/catch.hpp>
#include <thread>

namespace ptbench {
namespace {

bool is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

}  // namespace

TEST_CASE("signals that interrupt become an answer that is remembered") {
  (void)std::signal(SIGHUP, SIG_DFL);  // nohup ignores it
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    InterruptWatch watch;
    CHECK_FALSE(watch.requested());
    raise(signal);
    CHECK(watch.requested());
    CHECK(watch.requested());
  }
}

TEST_CASE("a signal that another thread's birth came after is seen too") {
  InterruptWatch watch;
  std::thread([] { raise(SIGINT); }).join();  // would end the process if the thread let it through
  CHECK_FALSE(watch.requested());             // it went to that thread alone, which is gone
  kill(getpid(), SIGTERM);
  CHECK(watch.requested());
}

TEST_CASE("impatience is one request") {
  InterruptWatch watch;
  for (int press = 0; press < 3; ++press) raise(SIGINT);
  raise(SIGTERM);
  CHECK(watch.requested());  // none is left to end the process after this
}

TEST_CASE("the watch leaves the mask as it was") {
  (void)std::signal(SIGHUP, SIG_DFL);
  REQUIRE_FALSE(is_blocked(SIGINT));
  {
    const InterruptWatch watch;
    CHECK(is_blocked(SIGINT));
    CHECK(is_blocked(SIGTERM));
    CHECK(is_blocked(SIGHUP));
    CHECK_FALSE(is_blocked(SIGQUIT));
  }
  CHECK_FALSE(is_blocked(SIGINT));
}

TEST_CASE("a signal that was ignored stays ignored") {
  const int signal = GENERATE(SIGINT, SIGHUP);
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(signal, &ignore, &before);
  {
    InterruptWatch watch;
    raise(signal);
    CHECK_FALSE(watch.requested());
    raise(SIGTERM);
    CHECK(watch.requested());
  }
  sigaction(signal, &before, nullptr);
}

}  // namespace ptbench
