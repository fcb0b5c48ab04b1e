// Capture of streams, and graphs.
#include <memory>
#include <set>

#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/runtime/call.h"

namespace ptbench::emulator {
namespace {

/// What stands before `last`, itself included.
std::set<const Operation*> ancestors_of(const OperationPtr& last) {
  std::set<const Operation*> found;
  std::vector<const Operation*> rest;
  if (last) rest.push_back(last.get());
  while (!rest.empty()) {
    const Operation* operation = rest.back();
    rest.pop_back();
    if (!found.insert(operation).second) continue;
    for (const OperationPtr& earlier : operation->after) rest.push_back(earlier.get());
  }
  return found;
}

cudaError_t end_capture(Stream& origin, std::shared_ptr<Graph>& graph) {
  graph = origin.capture;
  const std::set<const Operation*> joined = ancestors_of(origin.last_captured);
  cudaError_t error = graph->is_invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  U32 loose = 0;
  for (Stream* stream : machine().streams().capturing(*graph)) {
    if (stream != &origin && stream->last_captured &&
        !joined.contains(stream->last_captured.get())) {
      loose = stream->number;
      if (error == cudaSuccess) error = cudaErrorStreamCaptureUnjoined;
    }
    stream->capture = nullptr;
    stream->last_captured = nullptr;
    stream->began_capture = false;
  }
  if (error == cudaErrorStreamCaptureUnjoined)
    return fail(error, text("capture: stream ", loose, " was not joined with stream ",
                            origin.number, " before the end"));
  return fail(error);
}

CaptureMode mode_of(cudaStreamCaptureMode mode) {
  switch (mode) {
    case cudaStreamCaptureModeThreadLocal: return CaptureMode::same_thread;
    case cudaStreamCaptureModeRelaxed: return CaptureMode::nobody;
    case cudaStreamCaptureModeGlobal: break;
  }
  return CaptureMode::everybody;
}

/// A graph's handle owns a share of it.
using GraphHandle = std::shared_ptr<Graph>;
GraphHandle& graph_of(cudaGraph_t handle) { return *reinterpret_cast<GraphHandle*>(handle); }
ExecutableGraph& executable_of(cudaGraphExec_t handle) {
  return *reinterpret_cast<ExecutableGraph*>(handle);
}

}  // namespace
}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const Call call;
  if (const cudaError_t asked = asked_failure("cudaStreamBeginCapture")) return asked;
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  if (stream->number < static_cast<U32>(machine().devices()))
    return fail(cudaErrorStreamCaptureUnsupported,
                "capture: the default stream cannot be captured");
  if (stream->capture)
    return spoil_capture(*stream, cudaErrorStreamCaptureUnsupported, "cudaStreamBeginCapture");
  stream->capture = std::make_shared<Graph>();
  stream->last_captured = nullptr;
  stream->began_capture = true;
  stream->capture_mode = mode_of(mode);
  stream->capture_thread = std::this_thread::get_id();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const Call call;
  *graph = nullptr;
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  if (!stream->capture) return fail(cudaErrorInvalidValue);
  if (!stream->began_capture) return fail(cudaErrorStreamCaptureUnmatched);
  std::shared_ptr<Graph> captured;
  if ((error = end_capture(*stream, captured)) != cudaSuccess) return error;
  *graph = reinterpret_cast<cudaGraph_t>(new GraphHandle(std::move(captured)));
  machine().graphs() += 1;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const Call call;
  cudaError_t error = cudaSuccess;
  const Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  *status = !stream->capture              ? cudaStreamCaptureStatusNone
            : stream->capture->is_invalid ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  const Call call("cudaGraphInstantiate");
  if (const cudaError_t asked = asked_failure("cudaGraphInstantiate")) return asked;
  *executable =
      reinterpret_cast<cudaGraphExec_t>(machine().streams().instantiate(graph_of(graph)).release());
  machine().graphs() += 1;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t /*executable*/, cudaStream_t /*stream*/) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  const Call call("cudaGraphLaunch");
  if (const cudaError_t asked = asked_failure("cudaGraphLaunch")) return asked;
  cudaError_t error = cudaSuccess;
  Stream* stream = stream_of(handle, error);
  if (stream == nullptr) return error;
  if (stream->capture) return fail(cudaErrorNotSupported, "cudaGraphLaunch in a capture");
  machine().streams().launch(executable_of(executable), *stream);
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const Call call;
  if (nodes != nullptr) return fail(cudaErrorNotSupported, "cudaGraphGetNodes of nodes");
  *count = graph_of(graph)->operations.size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Call call;
  delete &graph_of(graph);
  machine().graphs() -= 1;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Call call;
  machine().scheduler().wait_for(executable_of(executable).last_launch);
  delete &executable_of(executable);
  machine().graphs() -= 1;
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)
