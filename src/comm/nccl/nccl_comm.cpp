#include "src/comm/nccl/nccl_comm.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "src/base/log.h"
#include "src/comm/nccl/check.h"
#include "src/comm/operation_text.h"
#include "src/device/cuda/check.h"
#include "src/device/cuda/cuda_queue.h"

namespace ptbench::nccl {
namespace {

ncclConfig_t answering_at_once() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

}  // namespace

NcclComm::NcclComm(NcclRank& rank,
                   FunctionRef<ncclResult_t(ncclComm_t* comm, ncclConfig_t* config)> start,
                   Communicator::Timeout timeout)
    : rank_(rank) {
  rank_.make_current();
  // Kernels of NCCL are few and wait for each other: they go before those that compute.
  stream_ = make_urgent_stream();
  ncclConfig_t config = answering_at_once();
  try {
    check(start(&handle_, &config), "making a communicator");
    settle(timeout, [] { return std::string("NCCL's start"); });
  } catch (...) {
    abort();
    throw;
  }
}

NcclComm::~NcclComm() {
  if (handle_ == nullptr) return;
  try {
    end();
  } catch (const std::exception& error) {
    abort();
    log_error(error.what());
  }
}

void NcclComm::end() {
  rank_.make_current();
  if (const Mark* last = last_until(~std::uint64_t{0}))
    rank_.await(
        *this, [&] { return is_done(*last); }, rank_.timeout(),
        [&] { return operation_text(last->operation); });
  PTBENCH_NCCL(ncclCommFinalize(handle_));
  settle(rank_.timeout(), [] { return std::string("NCCL's end"); });
  PTBENCH_NCCL(ncclCommDestroy(std::exchange(handle_, nullptr)));
}

void NcclComm::wait_for(const Event* event) const {
  if (event == nullptr) return;
  if (const auto* of_device = dynamic_cast<const CudaEvent*>(event))
    PTBENCH_CUDA(cudaStreamWaitEvent(stream(), of_device->handle(), cudaEventWaitDefault));
  else
    event->finish();
}

void NcclComm::record(Event* event) const {
  if (event == nullptr) return;
  PTBENCH_CUDA(cudaEventRecord(dynamic_cast<CudaEvent&>(*event).handle(), stream()));
}

void NcclComm::give(FunctionRef<void()> calls, const shared::Operation& operation) {
  PTBENCH_NCCL(ncclGroupStart());
  try {
    calls();
  } catch (...) {
    (void)ncclGroupEnd();
    throw;
  }
  PTBENCH_NCCL(ncclGroupEnd());
  settle(rank_.timeout(), [&] { return operation_text(operation); });
}

/// Until NCCL has done what it was called for, work on the device aside.
void NcclComm::settle(Communicator::Timeout timeout, FunctionRef<std::string()> doing) {
  rank_.await(*this, [this] { return state() == ncclSuccess; }, timeout, doing);
}

void NcclComm::mark(std::uint64_t ticket, std::uint64_t number,
                    const shared::Operation& operation) {
  Mark& mark = marks_.at(marked_ % kMarks);
  if (!mark.event) mark.event = make_event(cudaEventDisableTiming);
  PTBENCH_CUDA(cudaEventRecord(mark.event.get(), stream()));
  mark.ticket = ticket;
  mark.number = number;
  mark.operation = operation;
  ++marked_;
}

const Mark* NcclComm::last_until(std::uint64_t ticket) const {
  const std::uint64_t kept = std::min<std::uint64_t>(marked_, kMarks);
  const Mark* oldest = nullptr;
  for (std::uint64_t back = 1; back <= kept; ++back) {
    oldest = &marks_.at((marked_ - back) % kMarks);
    if (oldest->ticket <= ticket) return oldest;
  }
  return marked_ > kept ? oldest : nullptr;
}

bool NcclComm::is_done(const Mark& mark) {
  const cudaError_t result = cudaEventQuery(mark.event.get());
  if (result == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  PTBENCH_CUDA(result);
  return true;
}

ncclResult_t NcclComm::state() const {
  if (handle_ == nullptr) return ncclInvalidUsage;
  ncclResult_t state = ncclSuccess;
  PTBENCH_NCCL(ncclCommGetAsyncError(handle_, &state));
  return state;
}

std::string NcclComm::error_text(ncclResult_t state) const {
  std::string text = ncclGetErrorString(state);
  const char* details = ncclGetLastError(handle_);
  if (details != nullptr && *details != '\0') text += std::string(" (") + details + ")";
  return text;
}

void NcclComm::abort() noexcept {
  if (handle_ != nullptr) PTBENCH_NCCL_NOTE(ncclCommAbort(std::exchange(handle_, nullptr)));
}

}  // namespace ptbench::nccl
