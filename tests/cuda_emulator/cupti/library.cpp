// A shadow of NVIDIA's profiling library: activity records of what the emulated devices do, in
// buffers that are asked for and handed back, by CUPTI's documentation of its Activity API. Kinds
// and functions that the module does not use are not there.
#include <cupti.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_emulator/cupti/records.h"
#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

/// PTBENCH_EMULATOR_CUPTI: "refused" records for nobody, "crowded" loses every tenth record,
/// "uncalled" every tenth of calls alone.
bool is_in_state(const char* state) {
  const char* value = std::getenv("PTBENCH_EMULATOR_CUPTI");
  return value != nullptr && std::strcmp(value, state) == 0;
}

class Recorder {
 public:
  std::mutex mutex;
  std::set<CUpti_ActivityKind> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc timestamp = nullptr;
  std::size_t dropped = 0;

  template <class Record>
  void add(const Record& record) {
    const std::lock_guard lock(mutex);
    if (!kinds.contains(record.kind)) return;
    if (is_lost(record.kind)) {
      ++dropped;
      return;
    }
    if (buffer_ != nullptr && used_ + sizeof(record) > bytes_) hand_back();
    if (buffer_ == nullptr) {
      std::size_t most = 0;
      request(&buffer_, &bytes_, &most);
      used_ = 0;
    }
    if (buffer_ == nullptr || bytes_ < sizeof(record)) {
      ++dropped;
      return;
    }
    std::memcpy(buffer_ + used_, &record, sizeof(record));
    used_ += sizeof(record);
  }

  void hand_back() {
    if (buffer_ != nullptr) complete(nullptr, 0, buffer_, bytes_, used_);
    buffer_ = nullptr;
  }

  /// Names live as long as the process does; by their place.
  const char* keep(const std::string& name) { return names_.insert(name).first->c_str(); }
  std::uint32_t number_of(const char* name) {
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (calls_[i] == name) return static_cast<std::uint32_t>(i);
    calls_.emplace_back(name);
    return static_cast<std::uint32_t>(calls_.size() - 1);
  }
  /// As the library spells them: with the version that brought the function. Null: no such call.
  const char* name_of(std::uint32_t number, bool of_runtime) {
    if (number >= calls_.size()) return nullptr;
    return keep(calls_[number] + (of_runtime ? "_v7000" : ""));
  }

 private:
  /// As PTBENCH_EMULATOR_CUPTI wants it.
  bool is_lost(CUpti_ActivityKind kind) {
    const bool is_call = kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER;
    const bool may_be = is_in_state("crowded") || (is_in_state("uncalled") && is_call);
    constexpr std::size_t kEvery = 10;
    return may_be && ++records_ % kEvery == 0;
  }

  std::uint8_t* buffer_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
  std::size_t records_ = 0;  ///< of those that may be lost
  std::set<std::string> names_;
  std::vector<std::string> calls_;
};

Recorder& recorder() {
  static auto* const only = new Recorder;  // used until the process ends
  return *only;
}

/// Without a callback the library takes the machine's time.
std::uint64_t now() { return recorder().timestamp != nullptr ? recorder().timestamp() : 1; }

void tell_call(const ptbench_emulator_call& call) {
  CallRecord record{};
  record.kind = call.of_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = recorder().number_of(call.name);
  record.start = call.begin;
  record.end = call.end;
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = static_cast<std::uint32_t>(gettid());
  record.correlationId = call.correlation;
  recorder().add(record);
}

std::uint8_t kind_of(ptbench_emulator_work::Memory memory) {
  switch (memory) {
    case ptbench_emulator_work::pageable: return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    case ptbench_emulator_work::page_locked: return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case ptbench_emulator_work::of_device: break;
  }
  return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
}

std::uint8_t direction_of(const ptbench_emulator_work& work) {
  const bool from = work.from == ptbench_emulator_work::of_device;
  const bool to = work.to == ptbench_emulator_work::of_device;
  if (from && to) return CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  if (from) return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  return to ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

bool is_between_devices(const ptbench_emulator_work& work) {
  return work.from == ptbench_emulator_work::of_device &&
         work.to == ptbench_emulator_work::of_device && work.from_device != work.to_device;
}

template <class Record>
void tell(Record record, const ptbench_emulator_work& work, std::uint32_t stream,
          std::uint32_t correlation, std::uint64_t begin, std::uint64_t end) {
  record.start = begin;
  record.end = end;
  record.deviceId = static_cast<std::uint32_t>(work.device);
  record.contextId = 1;
  record.streamId = stream;
  record.correlationId = correlation;
  recorder().add(record);
}

void tell_work(const ptbench_emulator_work& work, std::uint32_t stream, std::uint32_t correlation,
               std::uint64_t begin, std::uint64_t end) {
  if (work.kind == ptbench_emulator_work::kernel) {
    KernelRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.name = recorder().keep(work.name);
    tell(record, work, stream, correlation, begin, end);
  } else if (work.kind == ptbench_emulator_work::copy && is_between_devices(work)) {
    CopyBetweenDevicesRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record.bytes = work.bytes;
    record.srcDeviceId = static_cast<std::uint32_t>(work.from_device);
    record.srcContextId = 1;
    record.dstDeviceId = static_cast<std::uint32_t>(work.to_device);
    record.dstContextId = 1;
    tell(record, work, stream, correlation, begin, end);
  } else if (work.kind == ptbench_emulator_work::copy) {
    CopyRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyKind = direction_of(work);
    record.srcKind = kind_of(work.from);
    record.dstKind = kind_of(work.to);
    record.bytes = work.bytes;
    tell(record, work, stream, correlation, begin, end);
  } else if (work.kind == ptbench_emulator_work::fill) {
    FillRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.bytes = work.bytes;
    record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    tell(record, work, stream, correlation, begin, end);
  }
}

constexpr ptbench_emulator_observer kObserver{.now = now, .call = tell_call, .work = tell_work};

/// Of a record, as the library writes them; 0 for kinds that it does not.
std::size_t bytes_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CallRecord);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CopyBetweenDevicesRecord);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(FillRecord);
    default: return 0;
  }
}

}  // namespace
}  // namespace ptbench::emulator

using ptbench::emulator::bytes_of;
using ptbench::emulator::is_in_state;
using ptbench::emulator::kObserver;
using ptbench::emulator::recorder;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_SUCCESS: *text = "CUPTI_SUCCESS"; break;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"; break;
    case CUPTI_ERROR_NOT_SUPPORTED: *text = "CUPTI_ERROR_NOT_SUPPORTED"; break;
    default: return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  recorder().timestamp = timestamp;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  recorder().request = request;
  recorder().complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (is_in_state("refused")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (bytes_of(kind) == 0) return CUPTI_ERROR_NOT_SUPPORTED;
  if (recorder().request == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  recorder().kinds.insert(kind);
  ptbench_emulator_observe(&kObserver);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (bytes_of(kind) == 0) return CUPTI_ERROR_NOT_SUPPORTED;
  recorder().kinds.erase(kind);
  if (recorder().kinds.empty()) ptbench_emulator_observe(nullptr);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (flag > CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) return CUPTI_ERROR_INVALID_PARAMETER;
  recorder().hand_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  auto* next = reinterpret_cast<uint8_t*>(*record);
  next = next == nullptr ? buffer : next + bytes_of((*record)->kind);
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, uint32_t /*stream*/,
                                              size_t* count) {
  *count = std::exchange(recorder().dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t call, const char** name) {
  const char* found = recorder().name_of(call, domain == CUPTI_CB_DOMAIN_RUNTIME_API);
  if (found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found;
  return CUPTI_SUCCESS;
}
}
// NOLINTEND(readability-identifier-naming)
