// The shadow of cuDNN: convolutions by the graph API, computed on the CPU when the stream gets
// there. What it does not do is CUDNN_STATUS_NOT_SUPPORTED.
#include <cudnn_graph.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "tests/cuda_emulator/cudnn/descriptor.h"
#include "tests/cuda_emulator/cudnn/refusal.h"
#include "tests/cuda_emulator/cudnn/variant_pack.h"
#include "tests/cuda_emulator/device/exports.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
  ptbench::emulator::Runs runs = std::make_shared<std::uint64_t>(0);
};

namespace ptbench::emulator {
namespace {

/// What the thread's last call that failed said.
std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// The status of a call: that of the Refusal which `call` throws, or success.
template <class Call>
cudnnStatus_t status_of(Call call) {
  try {
    call();
    return CUDNN_STATUS_SUCCESS;
  } catch (const Refusal& refusal) {
    last_error() = refusal.what();
    if (refusal.is_remarked())
      ptbench_emulator_remark(
          (std::string(cudnnGetErrorString(refusal.status())) + ": " + refusal.what()).c_str());
    return refusal.status();
  }
}

template <class T>
T& not_null(T* pointer, const char* what) {
  if (pointer == nullptr)
    throw Refusal(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, std::string(what) + " is null");
  return *pointer;
}

Descriptor& content_of(cudnnBackendDescriptor_t handle) {
  return *not_null(static_cast<DescriptorHandle*>(handle), "a descriptor").content;
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
std::size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
      return "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER: return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED: return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES:
      return "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
    case CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE: return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE: return "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN:
      return "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN";
    case CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE: return "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:
      return "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDART: return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    default: return "another cuDNN status";
  }
}

/// Empties what it tells.
void cudnnGetLastErrorString(char* message, std::size_t max_size) {
  if (message == nullptr || max_size == 0) return;
  std::snprintf(message, max_size, "%s", last_error().c_str());
  last_error().clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return status_of([&] { not_null(handle, "where a handle is to go") = new cudnnContext; });
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return status_of([&] { delete &not_null(handle, "the handle"); });
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return status_of([&] { not_null(handle, "the handle").stream = stream; });
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return status_of(
      [&] { not_null(stream, "where a stream is to go") = not_null(handle, "the handle").stream; });
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  return status_of([&] {
    not_null(descriptor, "where a descriptor is to go") =
        new DescriptorHandle{create_descriptor(type)};
  });
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return status_of(
      [&] { delete &not_null(static_cast<DescriptorHandle*>(descriptor), "a descriptor"); });
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* elements) {
  return status_of([&] { set_attribute(content_of(descriptor), name, type, count, elements); });
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t requested,
                                       std::int64_t* count, void* elements) {
  return status_of(
      [&] { get_attribute(content_of(descriptor), name, type, requested, count, elements); });
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return status_of([&] { finalize(content_of(descriptor)); });
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return status_of([&] {
    const cudnnContext& context = not_null(handle, "the handle");
    execute(context.stream, context.runs, content_of(plan), content_of(pack));
  });
}
}
// NOLINTEND(readability-identifier-naming)
