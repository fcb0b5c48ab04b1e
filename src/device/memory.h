#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/base/size.h"

namespace ptbench {

/// Memory that is owned here and released by whoever provided it. Move-only; zero-filled when made.
class Buffer {
 public:
  using Release = std::function<void(std::byte*)>;

  Buffer() = default;
  /// Takes ownership of `data`; `release` is called once with it.
  Buffer(std::byte* data, Bytes bytes, Release release)
      : data_(data, std::move(release)), bytes_(bytes) {}

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

  /// The buffer as elements of type T; a remainder that holds no whole element is left out.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(data_.get()), bytes_ / sizeof(T)};
  }

 private:
  std::unique_ptr<std::byte, Release> data_{nullptr, [](std::byte*) {}};
  Bytes bytes_ = 0;
};

/// Who provides the memory of arenas. A communicator may provide memory that its ranks share, a
/// device provides its own; who plans does not need to know.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Zero-filled, aligned to at least 64 bytes. `purpose` is named in the error when there is no
  /// memory (exit 1 with what was asked for).
  [[nodiscard]] virtual Buffer allocate(Bytes bytes, std::string_view purpose) = 0;
  /// What a buffer of so many bytes takes, whole pages counted.
  [[nodiscard]] virtual Bytes footprint(Bytes bytes) const { return bytes; }
};

/// Anonymous pages of this process, huge pages advised from 2 MiB on.
class HostMemorySource final : public MemorySource {
 public:
  [[nodiscard]] Buffer allocate(Bytes bytes, std::string_view purpose) override;
  [[nodiscard]] Bytes footprint(Bytes bytes) const override;
};

/// Bytes that this process may still take without swapping: the least of the kernel's MemAvailable
/// and of what the control groups (v1 and v2) leave.
[[nodiscard]] Bytes available_memory();
/// Whether it is a control group that leaves the least, as a container's or a batch system's.
[[nodiscard]] bool is_memory_of_group();

/// What helps where the kernel gives this process no more memory: names the limit of its addresses
/// (ulimit -v, or -d) where there is one, else it is `otherwise`.
[[nodiscard]] std::string remedy_for_no_memory(std::string otherwise);

/// Resident size of a process, in bytes, by who else has these pages.
struct ResidentMemory {
  Bytes own = 0;     ///< nobody
  Bytes files = 0;   ///< program and libraries: every process of the same program
  Bytes shared = 0;  ///< processes that share memory
  [[nodiscard]] Bytes total() const { return own + files + shared; }
};
/// What `more` has beyond `less`, nowhere below 0.
[[nodiscard]] ResidentMemory growth(const ResidentMemory& less, const ResidentMemory& more);

/// The memory of this process now, and the largest since it began or since the last reset (with
/// what files and shared memory take now).
[[nodiscard]] ResidentMemory resident_memory();
[[nodiscard]] ResidentMemory peak_resident_memory();
/// Lets the peak begin anew at the present size.
void reset_peak_resident_memory();

}  // namespace ptbench
