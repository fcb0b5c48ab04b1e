// What the CUDA module knows of CUPTI against its header: that of the toolkit here, and that of
// CUDA 12.4 by scripts/check-cuda-12. Of records, each member that the module reads.
#include <cstddef>
#include <type_traits>

#include "src/device/cuda/cupti.h"
#include "tests/cuda_emulator/cupti/records.h"

namespace ptbench::emulator {
namespace {

#define PTBENCH_SAME_MEMBER(own, its, record, field)             \
  static_assert(offsetof(own, its) == offsetof(record, field) && \
                sizeof(own::its) == sizeof(record::field))
/// That the module copies no more than there is, of a record that says first what it is.
#define PTBENCH_BEGINS(own, record)                                                  \
  static_assert(sizeof(own) <= sizeof(record) && std::is_trivially_copyable_v<own>); \
  PTBENCH_SAME_MEMBER(own, kind, record, kind)
/// Of what a device did.
#define PTBENCH_SAME_WORK(own, record)                \
  PTBENCH_BEGINS(own, record);                        \
  PTBENCH_SAME_MEMBER(own, start, record, start);     \
  PTBENCH_SAME_MEMBER(own, end, record, end);         \
  PTBENCH_SAME_MEMBER(own, device, record, deviceId); \
  PTBENCH_SAME_MEMBER(own, stream, record, streamId); \
  PTBENCH_SAME_MEMBER(own, correlation, record, correlationId)
#define PTBENCH_SAME_COPY(own, record)                   \
  PTBENCH_SAME_WORK(own, record);                        \
  PTBENCH_SAME_MEMBER(own, copy_kind, record, copyKind); \
  PTBENCH_SAME_MEMBER(own, from_kind, record, srcKind);  \
  PTBENCH_SAME_MEMBER(own, to_kind, record, dstKind);    \
  PTBENCH_SAME_MEMBER(own, bytes, record, bytes)

PTBENCH_BEGINS(CuptiCall, CallRecord);
PTBENCH_SAME_MEMBER(CuptiCall, callback, CallRecord, cbid);
PTBENCH_SAME_MEMBER(CuptiCall, start, CallRecord, start);
PTBENCH_SAME_MEMBER(CuptiCall, end, CallRecord, end);
PTBENCH_SAME_MEMBER(CuptiCall, thread, CallRecord, threadId);
PTBENCH_SAME_MEMBER(CuptiCall, correlation, CallRecord, correlationId);
PTBENCH_SAME_WORK(CuptiKernel, KernelRecord);
PTBENCH_SAME_MEMBER(CuptiKernel, name, KernelRecord, name);
PTBENCH_SAME_COPY(CuptiCopy, CopyRecord);
PTBENCH_SAME_COPY(CuptiCopyBetweenDevices, CopyBetweenDevicesRecord);
PTBENCH_SAME_WORK(CuptiFill, FillRecord);
PTBENCH_SAME_MEMBER(CuptiFill, bytes, FillRecord, bytes);
#undef PTBENCH_SAME_COPY
#undef PTBENCH_SAME_WORK
#undef PTBENCH_BEGINS
#undef PTBENCH_SAME_MEMBER

#define PTBENCH_SAME_VALUE(own, its) \
  static_assert(sizeof(own) == sizeof(its) && static_cast<int>(own) == static_cast<int>(its))
PTBENCH_SAME_VALUE(CuptiKind::copy, CUPTI_ACTIVITY_KIND_MEMCPY);
PTBENCH_SAME_VALUE(CuptiKind::fill, CUPTI_ACTIVITY_KIND_MEMSET);
PTBENCH_SAME_VALUE(CuptiKind::driver_call, CUPTI_ACTIVITY_KIND_DRIVER);
PTBENCH_SAME_VALUE(CuptiKind::runtime_call, CUPTI_ACTIVITY_KIND_RUNTIME);
PTBENCH_SAME_VALUE(CuptiKind::kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
PTBENCH_SAME_VALUE(CuptiKind::copy_between_devices, CUPTI_ACTIVITY_KIND_MEMCPY2);
PTBENCH_SAME_VALUE(CuptiResult::success, CUPTI_SUCCESS);
PTBENCH_SAME_VALUE(CuptiResult::max_limit_reached, CUPTI_ERROR_MAX_LIMIT_REACHED);
PTBENCH_SAME_VALUE(CuptiResult::insufficient_privileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
PTBENCH_SAME_VALUE(CuptiResult::virtualized_device_insufficient_privileges,
                   CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
PTBENCH_SAME_VALUE(CuptiDomain::driver, CUPTI_CB_DOMAIN_DRIVER_API);
PTBENCH_SAME_VALUE(CuptiDomain::runtime, CUPTI_CB_DOMAIN_RUNTIME_API);
#undef PTBENCH_SAME_VALUE
static_assert(kCuptiForcedFlush == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

static_assert(kCuptiMemories.size() == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC + 1);
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN) == "Unknown");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) == "Pageable");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_PINNED) == "Pinned");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE) == "Device");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_ARRAY) == "Array");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) == "Managed");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC) == "Device Static");
static_assert(kCuptiMemories.at(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC) == "Managed Static");

static_assert(kCuptiDirections.size() == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP + 1);
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN) == "Unknown");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) == "HtoD");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) == "DtoH");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA) == "HtoA");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH) == "AtoH");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA) == "AtoA");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_ATOD) == "AtoD");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_DTOA) == "DtoA");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD) == "DtoD");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH) == "HtoH");
static_assert(kCuptiDirections.at(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) == "PtoP");

}  // namespace
}  // namespace ptbench::emulator
