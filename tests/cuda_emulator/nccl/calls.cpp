// Calls that move data, groups of them, and what they need.
#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/nccl/group.h"
#include "tests/cuda_emulator/nccl/handles.h"
#include "tests/cuda_emulator/nccl/numbers.h"

namespace ptbench::emulator::nccl {
namespace {

ncclResult_t wrong(const char* call, const std::string& why,
                   ncclResult_t result = ncclInvalidArgument) {
  ptbench_emulator_remark(text(call, ": ", why, ": ", ncclGetErrorString(result)).c_str());
  return group().failed(explain(result, text(call, " : ", why)));
}

ncclResult_t not_emulated(const char* call) {
  return wrong(call, "is not emulated", ncclInvalidUsage);
}

/// Why a buffer cannot be this communicator's; empty where it can. What lies in no allocation is
/// found when the operation runs.
std::string misplaced(const void* at, int device) {
  if (at == nullptr) return "a buffer is NULL";
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, at) != cudaSuccess) return "a buffer is of no device";
  if (attributes.type == cudaMemoryTypeHost) return "buffers on the host are not emulated";
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != device)
    return text("a buffer is of device ", attributes.device, ", and the communicator of device ",
                device);
  return {};
}

bool reduces(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce_scatter || kind == Kind::reduce;
}

bool is_floating(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclFloat32 || type == ncclFloat64 || type == ncclBfloat16;
}

/// Fills in how elements are combined.
ncclResult_t resolve(const Communicator& communicator, Request& request) {
  if (!reduces(request.kind)) return ncclSuccess;
  if (request.op >= 0 && request.op < ncclNumOps) {
    // As NCCL does it: each element is multiplied before it is added.
    if (request.op == ncclAvg && is_floating(request.type))
      request.factor = 1.0F / static_cast<float>(communicator.place().ranks);
    return ncclSuccess;
  }
  const auto sum = communicator.scaled_sum(request.op);
  if (!sum) return wrong(request.call, "an operation that does not exist");
  if (sum->type != request.type) return wrong(request.call, "an operation of another type");
  request.op = ncclSum;
  request.factor = sum->factor;
  return ncclSuccess;
}

ncclResult_t ask(ncclComm_t comm, Request request, cudaStream_t stream) {
  const auto communicator = handles().find(comm, request.call);
  if (!communicator) return wrong(request.call, "comm argument is NULL");
  if (const ncclResult_t result = communicator->usable(request.call); result != ncclSuccess)
    return group().failed(result);
  const Communicator::Place& place = communicator->place();
  if (width_of(request.type) == 0)
    return wrong(request.call, text(name_of(request.type), " is not emulated"), ncclInvalidUsage);
  const bool is_rooted = request.kind != Kind::all_reduce && request.kind != Kind::all_gather &&
                         request.kind != Kind::reduce_scatter;
  if (is_rooted && (request.root < 0 || request.root >= place.ranks))
    return wrong(request.call, text("rank ", request.root, " of ", place.ranks));
  const bool is_root = request.root == place.rank;
  if (request.kind == Kind::broadcast && !is_root) request.from = nullptr;
  if (request.kind == Kind::reduce && !is_root) request.to = nullptr;
  const bool sends = request.kind != Kind::receive && (request.kind != Kind::broadcast || is_root);
  const bool receives = request.kind != Kind::send && (request.kind != Kind::reduce || is_root);
  if (request.count != 0)
    for (const void* at : {sends ? request.from : request.to, receives ? request.to : request.from})
      if (const std::string why = misplaced(at, place.device); !why.empty())
        return wrong(request.call, why);
  if (const ncclResult_t result = resolve(*communicator, request); result != ncclSuccess)
    return result;
  return group().add(communicator, request, stream);
}

const U8* from(const void* at) { return static_cast<const U8*>(at); }
U8* to(void* at) { return static_cast<U8*>(at); }

/// A scalar of a floating-point type; false where the type is another.
bool read_scalar(const void* at, ncclDataType_t type, float& value) {
  double wide = 0;
  std::uint16_t bits = 0;
  _Float16 half = 0;
  switch (type) {
    case ncclFloat32: std::memcpy(&value, at, sizeof value); return true;
    case ncclFloat64:
      std::memcpy(&wide, at, sizeof wide);
      value = static_cast<float>(wide);
      return static_cast<double>(value) == wide;
    case ncclFloat16:
      std::memcpy(&half, at, sizeof half);
      value = static_cast<float>(half);
      return true;
    case ncclBfloat16:
      std::memcpy(&bits, at, sizeof bits);
      value = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
      return true;
    default: return false;
  }
}

}  // namespace
}  // namespace ptbench::emulator::nccl

using namespace ptbench::emulator;
using namespace ptbench::emulator::nccl;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return ask(comm, {Kind::all_reduce, "ncclAllReduce", from(send), to(receive), count, type, op},
             stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return ask(comm,
             {Kind::reduce_scatter, "ncclReduceScatter", from(send), to(receive), count, type, op},
             stream);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return ask(comm, {Kind::all_gather, "ncclAllGather", from(send), to(receive), count, type},
             stream);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return ask(
      comm,
      {Kind::broadcast, "ncclBroadcast", from(send), to(receive), count, type, ncclSum, 1, root},
      stream);
}
ncclResult_t ncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return ask(comm, {Kind::reduce, "ncclReduce", from(send), to(receive), count, type, op, 1, root},
             stream);
}
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return ask(comm, {Kind::send, "ncclSend", from(send), nullptr, count, type, ncclSum, 1, peer},
             stream);
}
ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return ask(comm, {Kind::receive, "ncclRecv", nullptr, to(receive), count, type, ncclSum, 1, peer},
             stream);
}

ncclResult_t ncclGroupStart() {
  group().start();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return group().end(); }

ncclResult_t ncclMemAlloc(void** at, std::size_t bytes) {
  if (at == nullptr || bytes == 0) return ncclInvalidArgument;
  return cudaMalloc(at, bytes) == cudaSuccess
             ? ncclSuccess
             : explain(ncclUnhandledCudaError, "ncclMemAlloc : cudaMalloc failed");
}
ncclResult_t ncclMemFree(void* at) {
  return cudaFree(at) == cudaSuccess ? ncclSuccess : explain(ncclUnhandledCudaError, "ncclMemFree");
}

ncclResult_t ncclCommRegister(ncclComm_t comm, void* at, std::size_t bytes, void** registration) {
  const auto communicator = handles().find(comm, "ncclCommRegister");
  if (!communicator || registration == nullptr || bytes == 0) return ncclInvalidArgument;
  if (const ncclResult_t result = communicator->usable("ncclCommRegister"); result != ncclSuccess)
    return result;
  for (const void* end : {at, static_cast<void*>(to(at) + bytes - 1)}) {
    cudaPointerAttributes attributes{};
    cudaPointerGetAttributes(&attributes, end);
    if (attributes.type != cudaMemoryTypeDevice ||
        attributes.device != communicator->place().device)
      return wrong("ncclCommRegister", "what is registered is no memory of the device");
  }
  *registration = handles().add_registration(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(ncclComm_t comm, void* registration) {
  if (!handles().find(comm, "ncclCommDeregister")) return ncclInvalidArgument;
  return handles().remove_registration(comm, registration)
             ? ncclSuccess
             : wrong("ncclCommDeregister", "of what is not registered");
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  const auto communicator = handles().find(comm, "ncclRedOpCreatePreMulSum");
  if (!communicator || op == nullptr || scalar == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t result = communicator->usable("ncclRedOpCreatePreMulSum");
      result != ncclSuccess)
    return result;
  if (residence != ncclScalarHostImmediate)
    return wrong("ncclRedOpCreatePreMulSum", "a scalar on the device is not emulated",
                 ncclInvalidUsage);
  float factor = 1;
  if (!read_scalar(scalar, type, factor))
    return wrong("ncclRedOpCreatePreMulSum",
                 text("a scalar in ", name_of(type), " that float32 does not hold is not emulated"),
                 ncclInvalidUsage);
  *op = communicator->add({type, factor});
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  const auto communicator = handles().find(comm, "ncclRedOpDestroy");
  if (!communicator) return ncclInvalidArgument;
  return communicator->remove(op) ? ncclSuccess
                                  : wrong("ncclRedOpDestroy", "an operation that does not exist");
}

ncclResult_t ncclCommWindowRegister(ncclComm_t, void*, std::size_t, ncclWindow_t*, int) {
  return not_emulated("ncclCommWindowRegister");
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t) {
  return not_emulated("ncclCommWindowDeregister");
}
ncclResult_t ncclCommRevoke(ncclComm_t, int) { return not_emulated("ncclCommRevoke"); }
ncclResult_t ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int) {
  return not_emulated("ncclCommShrink");
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t*, int, int, int, ncclUniqueId*, ncclConfig_t*) {
  return not_emulated("ncclCommInitRankScalable");
}
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*) { return not_emulated("ncclGroupSimulateEnd"); }
ncclResult_t ncclAlltoAll(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t,
                          cudaStream_t) {
  return not_emulated("ncclAlltoAll");
}
ncclResult_t ncclGather(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                        cudaStream_t) {
  return not_emulated("ncclGather");
}
ncclResult_t ncclScatter(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t,
                         cudaStream_t) {
  return not_emulated("ncclScatter");
}
}
// NOLINTEND(readability-identifier-naming)
