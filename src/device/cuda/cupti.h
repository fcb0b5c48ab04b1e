#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ptbench {

// NVIDIA's profiling library (CUPTI), as far as it is used, by own prototypes: toolkits may come
// without its header, and the beginnings of records are the same in CUDA 12 and 13. What is here is
// compared with cupti.h of either (tests/cuda_emulator/cupti/layout.cpp, scripts/check-cuda-12).
// Source: CUPTI, "Activity API".

/// CUptiResult. Others come too.
enum class CuptiResult : int {
  success = 0,
  max_limit_reached = 12,  ///< no further record
  insufficient_privileges = 35,
  virtualized_device_insufficient_privileges = 40,
};

/// CUpti_ActivityKind.
enum class CuptiKind : std::uint32_t {
  copy = 1,
  fill = 2,
  driver_call = 4,
  runtime_call = 5,
  kernel = 10,
  copy_between_devices = 22,
};

/// By CUpti_ActivityMemoryKind, as PyTorch's profiler calls them.
inline constexpr std::array<std::string_view, 8> kCuptiMemories{
    "Unknown", "Pageable", "Pinned",        "Device",
    "Array",   "Managed",  "Device Static", "Managed Static"};

/// By CUpti_ActivityMemcpyKind.
inline constexpr std::array<std::string_view, 11> kCuptiDirections{
    "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};

/// Of CuptiFunctions::flush: buffers that are not full too.
inline constexpr std::uint32_t kCuptiForcedFlush = 1;

// What records begin with; timestamps are nanoseconds, 0 where they were not taken.

struct [[gnu::packed, gnu::aligned(8)]] CuptiCall {
  CuptiKind kind;
  std::uint32_t callback;  ///< which function
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t process;
  std::uint32_t thread;
  std::uint32_t correlation;
};

struct [[gnu::packed, gnu::aligned(8)]] CuptiKernel {
  CuptiKind kind;
  std::uint8_t caches[4];  // NOLINT(cppcoreguidelines-avoid-c-arrays): as it lies in memory
  std::uint64_t partitions;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t completed;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t shape[10];  // NOLINT(cppcoreguidelines-avoid-c-arrays): the same
  std::uint32_t correlation;
  std::int64_t grid;
  const char* name;
};

struct [[gnu::packed, gnu::aligned(8)]] CuptiCopy {
  CuptiKind kind;
  std::uint8_t copy_kind;
  std::uint8_t from_kind;
  std::uint8_t to_kind;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
};

struct [[gnu::packed, gnu::aligned(8)]] CuptiCopyBetweenDevices {
  CuptiKind kind;
  std::uint8_t copy_kind;
  std::uint8_t from_kind;
  std::uint8_t to_kind;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t from_device;
  std::uint32_t from_context;
  std::uint32_t to_device;
  std::uint32_t to_context;
  std::uint32_t correlation;
};

struct [[gnu::packed, gnu::aligned(8)]] CuptiFill {
  CuptiKind kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start;
  std::uint64_t end;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
};

/// CUpti_CallbackDomain.
enum class CuptiDomain : int { driver = 1, runtime = 2 };

using CuptiRequest = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using CuptiComplete = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t bytes, std::size_t valid_bytes);

/// The library's functions.
struct CuptiFunctions {
  CuptiResult (*version)(std::uint32_t* version) = nullptr;
  CuptiResult (*result_string)(CuptiResult result, const char** text) = nullptr;
  CuptiResult (*enable)(CuptiKind kind) = nullptr;
  CuptiResult (*disable)(CuptiKind kind) = nullptr;
  CuptiResult (*register_callbacks)(CuptiRequest request, CuptiComplete complete) = nullptr;
  CuptiResult (*register_timestamp)(std::uint64_t (*now)()) = nullptr;
  CuptiResult (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes,
                             CuptiKind** record) = nullptr;
  CuptiResult (*dropped)(void* context, std::uint32_t stream, std::size_t* count) = nullptr;
  CuptiResult (*flush)(std::uint32_t flag) = nullptr;
  CuptiResult (*callback_name)(CuptiDomain domain, std::uint32_t callback,
                               const char** name) = nullptr;
};

/// The library, which stays open until the process ends: threads of its own may be at work.
class Cupti {
 public:
  /// Never throws for a library that cannot be used.
  Cupti();

  /// Why it cannot be used, for people; empty where it can.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const CuptiFunctions& functions() const { return functions_; }
  /// "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES".
  [[nodiscard]] std::string text_of(CuptiResult result) const;
  /// "CUPTI 130001", by its own count of versions.
  [[nodiscard]] std::string name() const;

 private:
  CuptiFunctions functions_;
  std::string reason_;
};

}  // namespace ptbench
