#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

namespace ptbench::fuzz {

/// A file that lies in memory only and still has a path, for parsers that open their file.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("ptbench_fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Replaces the contents.
  void set(std::span<const std::uint8_t> bytes) {
    if (ftruncate(descriptor_, 0) != 0) std::abort();
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t put =
          pwrite(descriptor_, &bytes[done], bytes.size() - done, static_cast<off_t>(done));
      if (put <= 0) std::abort();
      done += static_cast<std::size_t>(put);
    }
  }

  /// Of this process, while the file lives.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace ptbench::fuzz
