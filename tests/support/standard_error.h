#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

#include "src/process/descriptor.h"

namespace ptbench::testing {

/// What this process says on standard error while it lives.
class StandardError {
 public:
  StandardError()
      : file_(memfd_create("standard error", MFD_CLOEXEC)), before_(dup(STDERR_FILENO)) {
    (void)dup2(file_.number(), STDERR_FILENO);
  }
  ~StandardError() { (void)dup2(before_.number(), STDERR_FILENO); }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  [[nodiscard]] std::string text() const {
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t size = 1; size > 0;) {
      size = pread(file_.number(), part.data(), part.size(), static_cast<off_t>(text.size()));
      if (size > 0) text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  Descriptor file_;
  Descriptor before_;
};

}  // namespace ptbench::testing
