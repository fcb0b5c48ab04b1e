#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "src/base/function_ref.h"
#include "src/base/size.h"
#include "src/device/core_latency.h"
#include "src/device/memory.h"
#include "src/device/queue.h"
#include "src/device/throttling.h"

namespace ptbench {

/// What a device that is no CPU tells of itself. Empty: not known.
struct AcceleratorConditions {
  std::optional<double> temperature_celsius = std::nullopt;
  std::optional<ThrottleReasons> throttling = std::nullopt;  ///< just now
  /// Processes other than this one that hold the device. A process may hold it and let it idle, as
  /// one does that waits for its turn, so that these alone disturb nothing. Not known where this
  /// process is not among those that the driver lists: it then counts in another namespace of
  /// process ids, as it does in containers, and cannot tell own from other.
  std::optional<int> other_processes = std::nullopt;
  /// Largest share of the multiprocessors' time that one of them used in a sampling period of the
  /// driver (a second at most) that ended since the last look. Not known in the same cases, and
  /// where no period ended or the driver does not sample.
  std::optional<double> foreign_fraction = std::nullopt;
  /// That the whole device has used since its driver was loaded, whoever used it.
  std::optional<double> joules = std::nullopt;
};

/// What a device sees of its own cores. Plain data, so that processes can send it.
struct DeviceConditions {
  bool has_latency = false;  ///< there are two cores to measure it between
  CoreLatency latency = {};
  std::optional<double> frequency_hertz = std::nullopt;  ///< of the slowest core; empty: not known
  double cpu_seconds = 0;  ///< that the device's process has used, on whatever CPU
  std::optional<AcceleratorConditions> accelerator = std::nullopt;  ///< empty for a CPU
};
static_assert(std::is_trivially_copyable_v<DeviceConditions>);

/// Why a device does not tell something.
struct WatchGap {
  std::string reason;  ///< for people
  std::string remedy;  ///< in the imperative
};

/// Bytes that buffers of a device take.
struct DeviceMemoryUse {
  Bytes now = 0;
  Bytes peak = 0;  ///< since the device was made, or since the last reset
};

/// Something that computes training steps. Its operators are planned by a backend and give their
/// work to `compute`, in the order in which they are called; that work may be done later. Its
/// memory belongs to that work: whoever else looks at it goes through a HostMirror.
///
/// A device belongs to the thread that made it.
class Device {
 public:
  virtual ~Device() = default;
  /// As on the command line: "cpu", "cuda:0".
  [[nodiscard]] virtual std::string id() const = 0;
  /// Its maker's name: "AMD EPYC".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Bytes memory_bytes() const = 0;

  [[nodiscard]] virtual MemorySource& memory() = 0;
  /// What buffers of memory() take; empty where they are the host's, of whose memory the process's
  /// size tells.
  [[nodiscard]] virtual std::optional<DeviceMemoryUse> own_memory() const { return std::nullopt; }
  virtual void reset_peak_memory() {}
  /// Whether the host may read and write memory() as its own, once the queues are finished.
  [[nodiscard]] virtual bool shares_memory_with_host() const = 0;
  /// Memory of the host from which and to which queues of any device copy while the host goes on.
  [[nodiscard]] virtual MemorySource& page_locked_memory() = 0;

  /// Where operators run.
  [[nodiscard]] virtual Queue& compute() = 0;
  /// For copies beside them.
  [[nodiscard]] virtual Queue& transfer() = 0;
  /// For small work that need not wait until compute() has done all that it was given, and goes
  /// first where both have some. Null: the device has no such queue.
  [[nodiscard]] virtual Queue* beside() { return nullptr; }
  /// Blocks the host until all work of all queues is done.
  virtual void finish() = 0;

  /// Threads of the host that compute here, the maker's among them; 1 where it only gives work.
  [[nodiscard]] virtual int host_threads() const { return 1; }
  /// The CPUs of these threads; none where they run anywhere.
  [[nodiscard]] virtual std::span<const int> cpus() const { return {}; }
  /// Calls job(part) for every part below `parts`, at the same time where there are as many host
  /// threads, and returns when all have returned. Not to be called by a job.
  virtual void run_on_host(int parts, FunctionRef<void(int part)> job) {
    for (int part = 0; part < parts; ++part) job(part);
  }
  /// Between jobs. Takes about 1 ms.
  [[nodiscard]] virtual DeviceConditions look() = 0;
  /// Why `look` does not tell whether the device is throttled, though it may be. Empty where it
  /// tells, and for CPUs, whose frequency is measured.
  [[nodiscard]] virtual std::optional<WatchGap> throttling_gap() const { return std::nullopt; }
};

/// Call before releasing memory that a queue may still use, also where its work has failed: its
/// waiters were told.
void finish_quietly(Device& device) noexcept;

}  // namespace ptbench
