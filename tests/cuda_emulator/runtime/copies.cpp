// Copies and fills. They are done late: page-locked memory is read when the copy is done, pageable
// memory when it is asked for, as the runtime may.
#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/runtime/call.h"

namespace ptbench::emulator {
namespace {

struct Copy {
  U8* to;
  const U8* from;
  std::size_t bytes;
  const char* call;
};

bool is_device_memory(const void* at) {
  return machine().memory().spans(at) || machine().kernels().variable_at(at) != nullptr;
}

/// Whose it is; the current device's where it is no allocation of any.
int device_of(const void* at) {
  const Allocation* found = machine().memory().table().find(at);
  return found == nullptr ? current_device() : found->device;
}

bool suits(cudaMemcpyKind kind, bool from_device, bool to_device) {
  switch (kind) {
    case cudaMemcpyHostToHost: return !from_device && !to_device;
    case cudaMemcpyHostToDevice: return !from_device && to_device;
    case cudaMemcpyDeviceToHost: return from_device && !to_device;
    case cudaMemcpyDeviceToDevice: return from_device && to_device;
    case cudaMemcpyDefault: return true;
  }
  return false;
}

void do_copy(const Copy& copy, const void* source) {
  if (is_device_memory(copy.from)) machine().touch(copy.call, copy.from, copy.bytes, false);
  if (is_device_memory(copy.to)) machine().touch(copy.call, copy.to, copy.bytes, true);
  std::memmove(copy.to, source, copy.bytes);
}

/// The work of a copy from the host: what it reads is pageable memory as it is now, or page-locked
/// memory as it will be, which must be the same.
std::function<void()> copy_from_host(const Copy& copy, bool is_captured) {
  if (is_captured) return [copy] { do_copy(copy, copy.from); };
  if (!machine().page_locked().holds(copy.from, copy.bytes)) {
    const auto now = std::make_shared<std::vector<U8>>(copy.from, copy.from + copy.bytes);
    return [copy, now] { do_copy(copy, now->data()); };
  }
  const auto source = std::make_shared<PageLockedSource>(copy.from, copy.bytes);
  return [copy, source] {
    if (!source->is_unchanged())
      report(text("page-locked reuse: the host has changed ",
                  machine().page_locked().describe(copy.from), " before ",
                  machine().scheduler().running()->what, ", which reads ", copy.bytes,
                  " bytes there, was over"));
    do_copy(copy, copy.from);
  };
}

cudaError_t enqueue_copy(const Copy& copy, cudaMemcpyKind kind, cudaStream_t handle, bool waits) {
  const Call call(copy.call);
  if (const cudaError_t asked = asked_failure(copy.call)) return asked;
  if (copy.bytes == 0) return cudaSuccess;
  if (copy.to == nullptr || copy.from == nullptr) return fail(cudaErrorInvalidValue);
  const bool from_device = is_device_memory(copy.from);
  const bool to_device = is_device_memory(copy.to);
  if (!suits(kind, from_device, to_device))
    return fail(cudaErrorInvalidMemcpyDirection,
                text(copy.call, ": the direction is not that of its pointers"));
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  if (waits)
    if (const cudaError_t refused = refuse_in_capture(copy.call)) return refused;
  const bool is_captured = stream->capture != nullptr;
  std::function<void()> work =
      from_device ? [copy] { do_copy(copy, copy.from); } : copy_from_host(copy, is_captured);
  const auto memory = [&](const void* at, bool is_on_device) {
    if (is_on_device) return ptbench_emulator_work::of_device;
    return machine().page_locked().holds(at, copy.bytes) ? ptbench_emulator_work::page_locked
                                                         : ptbench_emulator_work::pageable;
  };
  error = enqueue(handle, copy.call, std::move(work), false,
                  {.kind = ptbench_emulator_work::copy,
                   .bytes = copy.bytes,
                   .from = memory(copy.from, from_device),
                   .to = memory(copy.to, to_device),
                   .from_device = device_of(copy.from),
                   .to_device = device_of(copy.to)});
  if (error != cudaSuccess || is_captured) return error;
  const bool to_pageable = !to_device && !machine().page_locked().holds(copy.to, copy.bytes);
  if (waits || to_pageable) machine().scheduler().wait_for(stream->last);
  return state();
}

Copy copy_of(void* to, const void* from, std::size_t bytes, const char* call) {
  return {static_cast<U8*>(to), static_cast<const U8*>(from), bytes, call};
}

/// Whether what each device is said to have is its.
bool are_of(const void* to, int to_device, const void* from, int from_device) {
  const auto is_of = [](const void* at, int device) {
    const Allocation* found = machine().memory().table().find(at);
    return found == nullptr || found->device == device;
  };
  return is_of(to, to_device) && is_of(from, from_device);
}

cudaError_t enqueue_peer_copy(const Copy& copy, int to_device, int from_device, cudaStream_t stream,
                              bool waits) {
  const Call call;
  if (!are_of(copy.to, to_device, copy.from, from_device))
    return fail(cudaErrorInvalidValue, text(copy.call, ": its memory is not of devices ", to_device,
                                            " and ", from_device));
  return enqueue_copy(copy, cudaMemcpyDeviceToDevice, stream, waits);
}

cudaError_t enqueue_fill(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  return enqueue(stream, "cudaMemset",
                 [=] {
                   machine().touch("cudaMemset", at, bytes, true);
                   std::memset(at, value, bytes);
                 },
                 false, {.kind = ptbench_emulator_work::fill, .bytes = bytes});
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return enqueue_copy(copy_of(to, from, bytes, "cudaMemcpy"), kind, nullptr, true);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return enqueue_copy(copy_of(to, from, bytes, "cudaMemcpyAsync"), kind, stream, false);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  return enqueue_peer_copy(copy_of(to, from, bytes, "cudaMemcpyPeerAsync"), to_device, from_device,
                           stream, false);
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  return enqueue_peer_copy(copy_of(to, from, bytes, "cudaMemcpyPeer"), to_device, from_device,
                           nullptr, true);
}
cudaError_t cudaMemset(void* at, int value, std::size_t bytes) {
  const Call call("cudaMemset");
  if (const cudaError_t error = refuse_in_capture("cudaMemset")) return error;
  return enqueue_fill(at, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  const Call call("cudaMemsetAsync");
  return enqueue_fill(at, value, bytes, stream);
}
}
// NOLINTEND(readability-identifier-naming)
