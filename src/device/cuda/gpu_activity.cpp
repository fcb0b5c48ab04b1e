#include "src/device/cuda/gpu_activity.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "src/base/error.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/cupti.h"

// Of the runtime; the header that declares them is a package of its own, which many toolkits lack.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
}
// NOLINTEND(readability-identifier-naming)

namespace ptbench {
namespace {

constexpr std::array kKinds{CuptiKind::runtime_call, CuptiKind::driver_call,
                            CuptiKind::kernel,       CuptiKind::copy,
                            CuptiKind::fill,         CuptiKind::copy_between_devices};

/// As the library advises: of 1 to 10 MB.
constexpr std::size_t kBufferBytes = std::size_t{4} << 20U;
constexpr std::align_val_t kBufferAlignment{8};

/// That are kept: a trace of more could be read by nobody.
constexpr std::size_t kMostActivities = 200'000;

/// Calls that neither give work nor wait for it, of which there are many.
constexpr std::array<std::string_view, 6> kQuestions{
    "cudaGetDevice",       "cudaSetDevice",         "cudaGetLastError",
    "cudaPeekAtLastError", "cudaStreamIsCapturing", "cudaFuncGetAttributes"};

/// Nanoseconds of the clock that `SteadyClock` reads.
std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

std::string demangled(const char* name) {
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }  // NOLINT: malloc's
  };
  if (name == nullptr) return "kernel";
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 ? std::string(text.get()) : std::string(name);
}

/// The first of `names` for kinds that have none.
template <std::size_t Count>
std::string_view name_of(std::uint8_t kind, const std::array<std::string_view, Count>& names) {
  return kind < Count ? names.at(kind) : names.front();
}

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000".
std::string without_version(std::string name) {
  const std::size_t version = name.rfind("_v");
  if (version != std::string::npos &&
      name.find_first_not_of("0123456789", version + 2) == std::string::npos)
    name.erase(version);
  if (name.ends_with("_ptsz")) name.erase(name.size() - 5);
  return name;
}

/// What the library records, as it comes: buffers come from its own threads.
class GpuActivity final : public ActivityRecorder {
 public:
  explicit GpuActivity(Cupti library) : cupti_(std::move(library)) { log_.source = cupti_.name(); }
  ~GpuActivity() override {
    if (is_active()) end();
  }
  GpuActivity(const GpuActivity&) = delete;
  GpuActivity& operator=(const GpuActivity&) = delete;

  /// Success, or why it does not record.
  CuptiResult begin() {
    {
      const std::lock_guard lock(registry);
      ensure(active == nullptr, "one watch of GPUs at a time");
      active = this;
    }
    const CuptiFunctions& library = cupti_.functions();
    CuptiResult result = library.register_timestamp(now);
    if (result == CuptiResult::success) result = library.register_callbacks(request, complete);
    for (const CuptiKind kind : kKinds)
      if (result == CuptiResult::success) result = library.enable(kind);
    if (result != CuptiResult::success) end();
    return result;
  }

  [[nodiscard]] ActivityLog finish() override {
    end();
    count_without_call();
    drop_what_others_tell();
    return std::move(log_);
  }

 private:
  void end() {
    for (const CuptiKind kind : kKinds) (void)cupti_.functions().disable(kind);
    (void)cupti_.functions().flush(kCuptiForcedFlush);
    const std::lock_guard lock(registry);  // a callback that has begun ends first
    active = nullptr;
  }

  [[nodiscard]] bool is_active() const {
    const std::lock_guard lock(registry);
    return active == this;
  }

  // The library passes nothing by which a callback could know whose it is. The callbacks are C's:
  // nothing may be thrown through them.
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
  static inline std::mutex registry;  ///< held while `active` is used or changed
  static inline GpuActivity* active = nullptr;
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

  static void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    *buffer =
        static_cast<std::uint8_t*>(::operator new(kBufferBytes, kBufferAlignment, std::nothrow));
    *bytes = *buffer == nullptr ? 0 : kBufferBytes;
    *most_records = 0;  // as many as there is room for
  }

  static void complete(void* /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                       std::size_t /*bytes*/, std::size_t valid_bytes) {
    {
      const std::lock_guard lock(registry);
      if (active != nullptr) active->read(buffer, valid_bytes);
    }
    ::operator delete(buffer, kBufferAlignment);
  }

  void read(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
    CuptiKind* record = nullptr;
    CuptiResult result = CuptiResult::success;
    while ((result = cupti_.functions().next_record(buffer, valid_bytes, &record)) ==
           CuptiResult::success)
      try {
        add(record);
      } catch (const std::exception&) {
        ++log_.lost;  // for want of memory
      }
    if (result != CuptiResult::max_limit_reached) ++log_.lost;  // and whatever stood behind it
    std::size_t dropped = 0;
    if (cupti_.functions().dropped(nullptr, 0, &dropped) == CuptiResult::success)
      log_.lost += dropped;
  }

  void add(const CuptiKind* record) {
    switch (*record) {
      case CuptiKind::runtime_call: add_call(as<CuptiCall>(record), CuptiDomain::runtime); break;
      case CuptiKind::driver_call: add_call(as<CuptiCall>(record), CuptiDomain::driver); break;
      case CuptiKind::kernel: {
        const auto kernel = as<CuptiKernel>(record);
        add_work(ActivityKind::kernel, demangled(kernel.name), kernel, 0);
        break;
      }
      case CuptiKind::copy: add_copy(as<CuptiCopy>(record)); break;
      case CuptiKind::copy_between_devices: add_copy(as<CuptiCopyBetweenDevices>(record)); break;
      case CuptiKind::fill: {
        const auto fill = as<CuptiFill>(record);
        add_work(ActivityKind::fill, "Memset (Device)", fill, fill.bytes);
        break;
      }
    }
  }

  template <class Record>
  static Record as(const CuptiKind* record) {
    Record copy{};
    std::memcpy(&copy, record, sizeof(copy));
    return copy;
  }

  template <class Copy>
  void add_copy(const Copy& copy) {
    add_work(
        ActivityKind::copy,
        fmt::format("Memcpy {} ({} -> {})", name_of(copy.copy_kind, kCuptiDirections),
                    name_of(copy.from_kind, kCuptiMemories), name_of(copy.to_kind, kCuptiMemories)),
        copy, copy.bytes);
  }

  template <class Record>
  void add_work(ActivityKind kind, const std::string& name, const Record& record,
                std::uint64_t bytes) {
    add({.kind = kind,
         .name = name,
         .correlation = record.correlation,
         .begin = seconds(record.start),
         .end = seconds(record.end),
         .device = record.device,
         .line = record.stream,
         .bytes = static_cast<Bytes>(bytes)});
  }

  void add_call(const CuptiCall& call, CuptiDomain domain) {
    const char* name = nullptr;
    if (cupti_.functions().callback_name(domain, call.callback, &name) != CuptiResult::success)
      name = nullptr;
    const char* unknown = domain == CuptiDomain::runtime ? "cuda call" : "cu call";
    std::string text = without_version(name == nullptr ? unknown : name);
    if (std::ranges::find(kQuestions, text) != kQuestions.end()) return;
    if (domain == CuptiDomain::runtime) runtime_calls_.insert(call.correlation);
    add({.kind = ActivityKind::call,
         .name = std::move(text),
         .correlation = call.correlation,
         .begin = seconds(call.start),
         .end = seconds(call.end),
         .line = call.thread});
  }

  void add(DeviceActivity activity) {
    const bool is_timed = activity.begin > 0 && activity.end >= activity.begin;
    if (!is_timed || log_.activities.size() >= kMostActivities)
      ++log_.lost;
    else
      log_.activities.push_back(std::move(activity));
  }

  void count_without_call() {
    std::set<std::uint32_t> calls;
    for (const DeviceActivity& activity : log_.activities)
      if (activity.kind == ActivityKind::call) calls.insert(activity.correlation);
    for (const DeviceActivity& activity : log_.activities)
      if (activity.kind != ActivityKind::call && !calls.contains(activity.correlation))
        ++log_.without_call;
  }

  /// Libraries may give work by calls of the driver; those that the runtime makes, or that give no
  /// work, tell nothing new.
  void drop_what_others_tell() {
    std::set<std::uint32_t> given;
    for (const DeviceActivity& activity : log_.activities)
      if (activity.kind != ActivityKind::call) given.insert(activity.correlation);
    std::erase_if(log_.activities, [&](const DeviceActivity& activity) {
      if (activity.kind != ActivityKind::call || activity.name.starts_with("cuda")) return false;
      return !given.contains(activity.correlation) || runtime_calls_.contains(activity.correlation);
    });
  }

  static double seconds(std::uint64_t nanoseconds) {
    return 1e-9 * static_cast<double>(nanoseconds);
  }

  Cupti cupti_;
  ActivityLog log_;
  std::set<std::uint32_t> runtime_calls_;  ///< their correlations
};

std::string remedy_of(CuptiResult result) {
  if (result == CuptiResult::insufficient_privileges ||
      result == CuptiResult::virtualized_device_insufficient_privileges)
    return "Let the driver allow profiling to all users (NVreg_RestrictProfilingToAdminUsers=0), "
           "or run as an administrator.";
  return "Stop other profilers of this process, and use a CUPTI that is not newer than the "
         "driver's CUDA version.";
}

ActivityStart start() {
  Cupti library;
  if (!library.reason().empty())
    return {.watch = nullptr,
            .reason = library.reason(),
            .remedy = "Install CUPTI of this CUDA version, where the loader finds it."};
  auto watch = std::make_unique<GpuActivity>(library);
  const CuptiResult result = watch->begin();
  if (result == CuptiResult::success) return {.watch = std::move(watch)};
  return {.watch = nullptr,
          .reason = fmt::format("{}: {}", library.name(), library.text_of(result)),
          .remedy = remedy_of(result)};
}

void begin_profile() noexcept { PTBENCH_CUDA_NOTE(cudaProfilerStart()); }
void end_profile() noexcept { PTBENCH_CUDA_NOTE(cudaProfilerStop()); }

}  // namespace

const ActivityInterface& gpu_activity() {
  static constexpr ActivityInterface kInterface{
      .start = start, .begin_profile = begin_profile, .end_profile = end_profile};
  return kInterface;
}

}  // namespace ptbench
