#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace ptbench {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  void close() {
    if (is_open()) (void)::close(release());
  }
  /// Closing it is the caller's business from now on.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// Readable once that process has ended; closed where there is none that can be watched, and on
/// older kernels.
[[nodiscard]] inline Descriptor watch_process(pid_t process) {
  // glibc 2.36 declares its function for C alone.
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace ptbench
