// How communicators begin and end.
#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

#include "tests/cuda_emulator/device/exports.h"
#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/nccl/group.h"
#include "tests/cuda_emulator/nccl/handles.h"
#include "tests/cuda_emulator/nccl/network.h"
#include "tests/cuda_emulator/nccl/settings.h"

namespace ptbench::emulator::nccl {
namespace {

static_assert(sizeof(Address) <= sizeof(ncclUniqueId));

ncclResult_t refused(const char* call, const std::string& why,
                     ncclResult_t result = ncclInvalidArgument) {
  return group().failed(explain(result, text(call, " : ", why)));
}

/// The device of a new communicator; -1 where there is none, or a capture forbids it.
int usable_device(const char* call) {
  int device = -1;
  if (ptbench_emulator_refuse_in_capture(call) != 0) return -1;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess) return -1;
  return device;
}

bool blocks(const ncclConfig_t* config) {
  return config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT || config->blocking != 0;
}

ncclResult_t give_out(const std::shared_ptr<Communicator>& communicator, ncclComm_t* handle) {
  *handle = nullptr;
  const ncclResult_t begun = communicator->advance();
  if (begun != ncclSuccess && begun != ncclInProgress && communicator->place().blocking)
    return group().failed(begun);
  *handle = handles().add(communicator);
  handles().start_progress();
  const ncclResult_t result = group().add(communicator);
  if (result == ncclSuccess || result == ncclInProgress) return result;
  communicator->abort();
  handles().remove(*handle, true);
  *handle = nullptr;
  return group().failed(result);
}

ncclResult_t init(const char* call, ncclComm_t* handle, int ranks, const ncclUniqueId& id, int rank,
                  bool blocking) {
  if (handle == nullptr) return refused(call, "comm argument is NULL");
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refused(call, text("Invalid rank requested : ", rank, "/", ranks));
  if (ranks > static_cast<int>(kMaxRanks))
    return refused(call, text("more than ", kMaxRanks, " ranks are not emulated"),
                   ncclInvalidUsage);
  if (bootstrap_interface().empty())
    return refused(call, "Bootstrap : no socket interface found", ncclSystemError);
  const int device = usable_device(call);
  if (device < 0) return refused(call, "no CUDA device can be used", ncclUnhandledCudaError);
  Address address{};
  std::memcpy(&address, &id, sizeof address);
  return give_out(
      std::make_shared<Communicator>(address, Communicator::Place{ranks, rank, device, blocking}),
      handle);
}

}  // namespace
}  // namespace ptbench::emulator::nccl

using namespace ptbench::emulator;
using namespace ptbench::emulator::nccl;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = nccl::settings().version;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return ncclInvalidArgument;
  *id = {};
  if (nccl::settings().failure == Failure::no_id || bootstrap_interface().empty())
    return explain(ncclSystemError, "Bootstrap : no socket interface found");
  const Address address = Region::create();
  if (address.file < 0) return explain(ncclSystemError, "Bootstrap : no memory to share");
  std::memcpy(id, &address, sizeof address);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config != nullptr && config->magic != 0xcafebeef)
    return refused("ncclCommInitRankConfig", "ncclConfig_t argument not initialized");
  return init("ncclCommInitRankConfig", comm, ranks, id, rank, blocks(config));
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return init("ncclCommInitRank", comm, ranks, id, rank, true);
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclUniqueId id;
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) return result;
  int before = 0;
  cudaGetDevice(&before);
  group().start();
  for (int rank = 0; rank < count; ++rank) {
    if (cudaSetDevice(devices == nullptr ? rank : devices[rank]) != cudaSuccess)
      refused("ncclCommInitAll", text("no device for rank ", rank), ncclUnhandledCudaError);
    else
      init("ncclCommInitAll", comms + rank, count, id, rank, true);
  }
  const ncclResult_t result = group().end();
  cudaSetDevice(before);
  return result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* split,
                           ncclConfig_t* config) {
  const auto parent = handles().find(comm, "ncclCommSplit");
  if (!parent || split == nullptr) return ncclInvalidArgument;
  *split = nullptr;
  if (const ncclResult_t result = parent->usable("ncclCommSplit"); result != ncclSuccess)
    return group().failed(result);
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) return refused("ncclCommSplit", "negative color");
  if (ptbench_emulator_refuse_in_capture("ncclCommSplit") != 0)
    return refused("ncclCommSplit", "a stream is captured", ncclUnhandledCudaError);
  const bool blocking = config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT
                            ? parent->place().blocking
                            : blocks(config);
  const auto made =
      std::make_shared<Communicator>(parent, color, key, parent->place().device, blocking);
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  return give_out(made, split);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto communicator = handles().find(comm, "ncclCommFinalize");
  if (!communicator) return ncclInvalidArgument;
  if (const ncclResult_t result = communicator->usable("ncclCommFinalize"); result != ncclSuccess)
    return result;
  communicator->leave();
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  const auto communicator = handles().find(comm, "ncclCommDestroy");
  if (ptbench_emulator_refuse_in_capture("ncclCommDestroy") != 0)
    return explain(ncclUnhandledCudaError, "ncclCommDestroy : a stream is captured");
  communicator->leave();
  handles().remove(comm, false);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  handles().find(comm, "ncclCommAbort")->abort();
  handles().remove(comm, true);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const auto communicator = handles().find(comm, "ncclCommGetAsyncError");
  if (!communicator || error == nullptr) return ncclInvalidArgument;
  *error = communicator->state();
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  const auto communicator = handles().find(comm, "ncclCommCount");
  if (!communicator || count == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t result = communicator->usable("ncclCommCount"); result != ncclSuccess)
    return result;
  *count = communicator->place().ranks;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  const auto communicator = handles().find(comm, "ncclCommUserRank");
  if (!communicator || rank == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t result = communicator->usable("ncclCommUserRank"); result != ncclSuccess)
    return result;
  *rank = communicator->place().rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  const auto communicator = handles().find(comm, "ncclCommCuDevice");
  if (!communicator || device == nullptr) return ncclInvalidArgument;
  *device = communicator->place().device;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm_t /*comm*/) { return last_explanation(); }
}
// NOLINTEND(readability-identifier-naming)

namespace {

/// Before libcudart's shadow looks for what was left.
[[gnu::destructor]] void end_communicators() {
  handles().stop_progress();
  handles().report_leaks();
}

}  // namespace
