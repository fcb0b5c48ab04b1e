#include "src/process/interrupt.h"

#include <ctime>

#include "src/base/error.h"
#include "src/base/interrupt_signals.h"
#include "src/process/standard_streams.h"

namespace ptbench {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  sigemptyset(&watched_);
  for (const int signal : kInterruptSignals)
    if (!is_ignored(signal)) sigaddset(&watched_, signal);
  ensure(pthread_sigmask(SIG_BLOCK, &watched_, &before_) == 0,
         "signals that interrupt can be blocked");
}

InterruptWatch::~InterruptWatch() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool InterruptWatch::requested() {
  constexpr timespec kAtOnce{};
  // Takes all that wait: the second press of an impatient user asks for nothing new.
  for (int signal = 0; (signal = sigtimedwait(&watched_, nullptr, &kAtOnce)) > 0;) {
    requested_ = true;
    if (signal == SIGHUP) leave_lost_terminal();
  }
  return requested_;
}

}  // namespace ptbench
