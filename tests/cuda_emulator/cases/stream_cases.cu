// Order between streams, capture, graphs and cuBLASLt.
#include <cublasLt.h>

#include "tests/cuda_emulator/cases/case.h"

namespace ptbench::emulator::cases {
namespace {

__global__ void increased(float* values, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) values[index] += 1;
}

bool missing_event(bool faulty) {
  const DeviceArray<float> values(std::vector<float>(64, 0.0F));
  const StreamOwner first;
  const StreamOwner second;
  const EventOwner done;
  increased<<<1, 64, 0, first.get()>>>(values.get(), 64);
  CASE_CHECK(cudaEventRecord(done.get(), first.get()));
  if (!faulty) CASE_CHECK(cudaStreamWaitEvent(second.get(), done.get(), 0));
  increased<<<1, 64, 0, second.get()>>>(values.get(), 64);
  second.finish();
  first.finish();
  return same("increased", values.read(), std::vector<float>(64, 2.0F));
}

bool copy_race(bool faulty) {
  const DeviceArray<float> values(std::vector<float>(64, 0.0F));
  const StreamOwner compute;
  const StreamOwner copies;
  float* host = nullptr;
  CASE_CHECK(cudaMallocHost(&host, 64 * sizeof(float)));
  increased<<<1, 64, 0, compute.get()>>>(values.get(), 64);
  if (!faulty) compute.finish();
  CASE_CHECK(cudaMemcpyAsync(host, values.get(), 64 * sizeof(float), cudaMemcpyDeviceToHost,
                             copies.get()));
  CASE_CHECK(cudaDeviceSynchronize());
  const bool right = host[63] == 1;
  CASE_CHECK(cudaFreeHost(host));
  return right;
}

/// Two streams captured, joined by events, and launched twice.
bool graph(bool faulty) {
  const DeviceArray<float> values(std::vector<float>(64, 0.0F));
  const StreamOwner main;
  const StreamOwner side;
  const EventOwner fork;
  const EventOwner join;
  CASE_CHECK(cudaStreamBeginCapture(main.get(), cudaStreamCaptureModeGlobal));
  increased<<<1, 64, 0, main.get()>>>(values.get(), 64);
  CASE_CHECK(cudaEventRecord(fork.get(), main.get()));
  CASE_CHECK(cudaStreamWaitEvent(side.get(), fork.get(), 0));
  increased<<<1, 64, 0, side.get()>>>(values.get(), 64);
  if (!faulty) {
    CASE_CHECK(cudaEventRecord(join.get(), side.get()));
    CASE_CHECK(cudaStreamWaitEvent(main.get(), join.get(), 0));
  }
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(main.get(), &captured);
  if (faulty) return ended == cudaErrorStreamCaptureUnjoined;
  CASE_CHECK(ended);
  cudaGraphExec_t executable = nullptr;
  CASE_CHECK(cudaGraphInstantiate(&executable, captured, 0));
  for (int turn = 0; turn < 2; ++turn) CASE_CHECK(cudaGraphLaunch(executable, main.get()));
  main.finish();
  CASE_CHECK(cudaGraphExecDestroy(executable));
  CASE_CHECK(cudaGraphDestroy(captured));
  return same("increased", values.read(), std::vector<float>(64, 4.0F));
}

/// Calls that no capture survives.
bool call_in_capture(bool faulty) {
  const StreamOwner stream;
  cudaGraph_t captured = nullptr;
  CASE_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  void* at = nullptr;
  if (faulty && cudaMalloc(&at, 4) != cudaErrorStreamCaptureUnsupported) return false;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &captured);
  if (faulty) return ended == cudaErrorStreamCaptureInvalidated && captured == nullptr;
  CASE_CHECK(ended);
  CASE_CHECK(cudaGraphDestroy(captured));
  return true;
}

bool timed_events(bool faulty) {
  const StreamOwner stream;
  const EventOwner begin(faulty ? cudaEventDisableTiming : cudaEventDefault);
  const EventOwner end(cudaEventDefault);
  CASE_CHECK(cudaEventRecord(begin.get(), stream.get()));
  CASE_CHECK(cudaEventRecord(end.get(), stream.get()));
  stream.finish();
  float milliseconds = 0;
  const cudaError_t error = cudaEventElapsedTime(&milliseconds, begin.get(), end.get());
  return faulty ? error == cudaErrorInvalidResourceHandle : milliseconds > 0;
}

/// D = op(A) B + bias, then ReLU, all column-major; with a fault A's leading dimension is larger
/// than its memory.
bool matmul(bool faulty) {
  constexpr int kM = 5;
  constexpr int kN = 3;
  constexpr int kK = 4;
  std::vector<float> a(kM * kK);
  std::vector<float> b(kK * kN);
  for (std::size_t index = 0; index < a.size(); ++index)
    a[index] = static_cast<float>(index % 7) - 3;
  for (std::size_t index = 0; index < b.size(); ++index)
    b[index] = static_cast<float>(index % 5) - 2;
  const std::vector<float> bias{1, -1, 2, -2, 0};
  const DeviceArray<float> device_a(a);
  const DeviceArray<float> device_b(b);
  const DeviceArray<float> device_bias(bias);
  const DeviceArray<float> device_d(kM * kN);
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t layout_a = nullptr;
  cublasLtMatrixLayout_t layout_b = nullptr;
  cublasLtMatrixLayout_t layout_d = nullptr;
  cublasLtCreate(&handle);
  cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  const float* bias_pointer = device_bias.get();
  cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                 sizeof epilogue);
  cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_pointer,
                                 sizeof bias_pointer);
  cublasLtMatrixLayoutCreate(&layout_a, CUDA_R_32F, kM, kK, faulty ? kM + 3 : kM);
  cublasLtMatrixLayoutCreate(&layout_b, CUDA_R_32F, kK, kN, kK);
  cublasLtMatrixLayoutCreate(&layout_d, CUDA_R_32F, kM, kN, kM);
  const float one = 1;
  const float zero = 0;
  const cublasStatus_t status = cublasLtMatmul(
      handle, description, &one, device_a.get(), layout_a, device_b.get(), layout_b, &zero,
      device_d.get(), layout_d, device_d.get(), layout_d, nullptr, nullptr, 0, nullptr);
  CASE_CHECK(cudaDeviceSynchronize());
  for (cublasLtMatrixLayout_t layout : {layout_a, layout_b, layout_d})
    cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(description);
  cublasLtDestroy(handle);
  std::vector<float> wanted(kM * kN);
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      float sum = bias[static_cast<std::size_t>(row)];
      for (int step = 0; step < kK; ++step)
        sum += a[static_cast<std::size_t>(step * kM + row)] *
               b[static_cast<std::size_t>(column * kK + step)];
      wanted[static_cast<std::size_t>(column * kM + row)] = sum > 0 ? sum : 0;
    }
  return status == CUBLAS_STATUS_SUCCESS && same("matmul", device_d.read(), wanted);
}

}  // namespace

std::vector<Case> stream_cases() {
  return {{"missing-event", missing_event},
          {"copy-race", copy_race},
          {"graph", graph},
          {"call-in-capture", call_in_capture},
          {"timed-events", timed_events},
          {"leading-dimension", matmul}};
}

}  // namespace ptbench::emulator::cases
