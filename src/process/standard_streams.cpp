#include "src/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

namespace ptbench {

void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // open takes the lowest free number; read-only, so that writes fail.
    if (fcntl(stream, F_GETFD) == -1) (void)open("/dev/null", O_RDONLY);  // NOLINT(*-vararg)
}

void let_large_writes_fail() { (void)std::signal(SIGXFSZ, SIG_IGN); }

void let_unread_writes_fail() { (void)std::signal(SIGPIPE, SIG_IGN); }

void leave_lost_terminal() {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    errno = 0;
    if (isatty(stream) == 1 || errno != EIO) continue;
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) continue;
    (void)dup2(nowhere, stream);
    (void)close(nowhere);
  }
}

std::optional<Error> finish_standard_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return std::nullopt;
  const std::string reason =
      errno == 0 ? std::string() : ": " + std::generic_category().message(errno);
  return usage_error("standard output could not be written" + reason,
                     "check where standard output leads and whether its disk is full");
}

}  // namespace ptbench
