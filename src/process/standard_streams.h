#pragma once

#include <optional>

#include "src/base/error.h"

namespace ptbench {

/// Sees to it that descriptors 0 to 2 are open: a file that is opened later could otherwise take
/// the place of a standard stream that the caller had closed, and receive its text. What is written
/// to such a stream fails, as before. To be called first of all.
void reserve_standard_streams();

/// Lets a write beyond the file-size limit fail like one on a full disk, instead of ending the
/// process by SIGXFSZ.
void let_large_writes_fail();

/// Lets a write to a pipe that nobody reads any more fail, instead of ending the process by
/// SIGPIPE. Programs that it starts inherit that, but for leaders of sessions.
void let_unread_writes_fail();

/// Lets standard output and error lead nowhere where they led to a terminal that hung up: who has
/// nobody to talk to any more can still save what it has.
void leave_lost_terminal();

/// Sends off what standard output still holds. The usage error to report if anything written to it
/// in the life of this process did not arrive: disk full, closed, nobody reads.
[[nodiscard]] std::optional<Error> finish_standard_output();

}  // namespace ptbench
