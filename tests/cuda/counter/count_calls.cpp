// A library to be preloaded that counts what cuBLASLt multiplies, what cuDNN executes, the calls of
// the CUDA runtime by which the host waits for a device, or memory, events, streams and graphs are
// made or released, those that tell profilers where to begin and end, the graphs that are
// launched between these two, what the last graph that was recorded consists of (kernels, copies,
// products and convolutions), and asynchronous copies from or to memory of the host that is not
// page-locked, and the bytes of those from the host to a device; collectives that NCCL is asked
// for, and those of them that reduce to one rank; then the execution plans that cuDNN is asked to
// finalize, those that it refuses too, how many it is asked to restore from their text, and the
// milliseconds of both. Writes the numbers, in this order, into the file that PTBENCH_LIBRARY_CALLS
// names when the process ends; of several processes, the last one's stay.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>

namespace {

class Calls {
 public:
  Calls() = default;
  ~Calls() {
    const char* file = std::getenv("PTBENCH_LIBRARY_CALLS");
    if (file != nullptr && products + convolutions + waits + allocations > 0) write(file);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  std::uint64_t products = 0;
  std::uint64_t convolutions = 0;
  std::uint64_t waits = 0;
  std::uint64_t allocations = 0;
  std::uint64_t profile_begins = 0;
  std::uint64_t profile_ends = 0;
  std::uint64_t profiled_graphs = 0;
  std::uint64_t recorded_work = 0;
  std::uint64_t pageable_copies = 0;
  std::uint64_t collectives = 0;
  std::uint64_t reductions_to_one = 0;
  std::uint64_t bytes_to_devices = 0;
  bool records = false;
  std::uint64_t plans = 0;
  std::uint64_t restored_plans = 0;
  std::chrono::steady_clock::duration planning{};
  std::map<cudnnBackendDescriptor_t, bool> plans_to_be;  ///< and whether from a text

 private:
  void write(const std::string& file) const {
    const std::string own = file + "." + std::to_string(getpid());
    std::ofstream(own) << products << ' ' << convolutions << ' ' << waits << ' ' << allocations
                       << ' ' << profile_begins << ' ' << profile_ends << ' ' << profiled_graphs
                       << ' ' << recorded_work << ' ' << pageable_copies << ' ' << bytes_to_devices
                       << ' ' << collectives << ' ' << reductions_to_one << ' ' << plans << ' '
                       << restored_plans << ' '
                       << std::chrono::duration_cast<std::chrono::milliseconds>(planning).count()
                       << '\n';
    (void)std::rename(own.c_str(), file.c_str());
  }
};

Calls& calls() {
  static Calls calls;
  return calls;
}

void note_recorded() {
  if (calls().records) ++calls().recorded_work;
}

/// The function of the library that the module has opened, which goes by one of these names.
template <class Function>
Function real(std::initializer_list<const char*> libraries, const char* name) {
  for (const char* file : libraries)
    if (void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD); library != nullptr)
      return reinterpret_cast<Function>(dlsym(library, name));
  std::abort();
}

/// Whose memory it is, as far as the runtime knows it.
cudaMemoryType type_of(const void* at) {
  static const auto attributes_of = real<decltype(&cudaPointerGetAttributes)>(
      {"libcudart.so.13", "libcudart.so.12"}, "cudaPointerGetAttributes");
  cudaPointerAttributes attributes{};
  if (attributes_of(&attributes, at) != cudaSuccess) std::abort();
  return attributes.type;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t library, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
    cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
    const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
    cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
    size_t workspace_bytes, cudaStream_t stream) {
  static const auto matmul =
      real<decltype(&cublasLtMatmul)>({"libcublasLt.so.13", "libcublasLt.so.12"}, "cublasLtMatmul");
  ++calls().products;
  note_recorded();
  return matmul(library, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                algorithm, workspace, workspace_bytes, stream);
}

__attribute__((visibility("default"))) cudnnStatus_t cudnnBackendExecute(
    cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t memory) {
  static const auto execute =
      real<decltype(&cudnnBackendExecute)>({"libcudnn.so.9"}, "cudnnBackendExecute");
  ++calls().convolutions;
  note_recorded();
  return execute(handle, plan, memory);
}

__attribute__((visibility("default"))) cudnnStatus_t cudnnBackendCreateDescriptor(
    cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  static const auto create = real<decltype(&cudnnBackendCreateDescriptor)>(
      {"libcudnn.so.9"}, "cudnnBackendCreateDescriptor");
  const cudnnStatus_t status = create(type, descriptor);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  calls().plans_to_be.erase(*descriptor);  // one that was destroyed lay there
  if (type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) calls().plans_to_be[*descriptor] = false;
  return status;
}

__attribute__((visibility("default"))) cudnnStatus_t
cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  static const auto set =
      real<decltype(&cudnnBackendSetAttribute)>({"libcudnn.so.9"}, "cudnnBackendSetAttribute");
  if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) calls().plans_to_be[descriptor] = true;
  return set(descriptor, name, type, count, values);
}

__attribute__((visibility("default"))) cudnnStatus_t
cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  static const auto finalize =
      real<decltype(&cudnnBackendFinalize)>({"libcudnn.so.9"}, "cudnnBackendFinalize");
  const auto plan = calls().plans_to_be.find(descriptor);
  if (plan == calls().plans_to_be.end()) return finalize(descriptor);
  ++(plan->second ? calls().restored_plans : calls().plans);
  calls().plans_to_be.erase(plan);
  const auto begin = std::chrono::steady_clock::now();
  const cudnnStatus_t status = finalize(descriptor);
  calls().planning += std::chrono::steady_clock::now() - begin;
  return status;
}

__attribute__((visibility("default"))) cudaError_t cudaGraphLaunch(cudaGraphExec_t executable,
                                                                   cudaStream_t stream) {
  static const auto launch =
      real<decltype(&cudaGraphLaunch)>({"libcudart.so.13", "libcudart.so.12"}, "cudaGraphLaunch");
  if (calls().profile_begins > calls().profile_ends) ++calls().profiled_graphs;
  return launch(executable, stream);
}

__attribute__((visibility("default"))) cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  static const auto begin = real<decltype(&cudaStreamBeginCapture)>(
      {"libcudart.so.13", "libcudart.so.12"}, "cudaStreamBeginCapture");
  calls().records = true;
  calls().recorded_work = 0;
  return begin(stream, mode);
}

__attribute__((visibility("default"))) cudaError_t cudaStreamEndCapture(cudaStream_t stream,
                                                                        cudaGraph_t* graph) {
  static const auto end = real<decltype(&cudaStreamEndCapture)>(
      {"libcudart.so.13", "libcudart.so.12"}, "cudaStreamEndCapture");
  calls().records = false;
  return end(stream, graph);
}

// What `<<<…>>>` calls: this since CUDA 13, cudaLaunchKernel before.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier): CUDA's name
__attribute__((visibility("default"))) cudaError_t __cudaLaunchKernel(cudaKernel_t kernel,
                                                                      dim3 grid, dim3 block,
                                                                      void** arguments,
                                                                      size_t shared,
                                                                      cudaStream_t stream) {
  using Launch = cudaError_t (*)(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
  static const auto launch = real<Launch>({"libcudart.so.13"}, "__cudaLaunchKernel");
  note_recorded();
  return launch(kernel, grid, block, arguments, shared, stream);
}

__attribute__((visibility("default"))) cudaError_t cudaMemcpyAsync(void* to, const void* from,
                                                                   size_t bytes,
                                                                   enum cudaMemcpyKind kind,
                                                                   cudaStream_t stream) {
  static const auto copy =
      real<cudaError_t (*)(void*, const void*, size_t, enum cudaMemcpyKind, cudaStream_t)>(
          {"libcudart.so.13", "libcudart.so.12"}, "cudaMemcpyAsync");
  note_recorded();
  const cudaMemoryType source = type_of(from);
  const cudaMemoryType target = type_of(to);
  if (source == cudaMemoryTypeUnregistered || target == cudaMemoryTypeUnregistered)
    ++calls().pageable_copies;
  if (source == cudaMemoryTypeHost && target == cudaMemoryTypeDevice)
    calls().bytes_to_devices += bytes;
  return copy(to, from, bytes, kind, stream);
}

__attribute__((visibility("default"))) cudaError_t cudaMemsetAsync(void* at, int value,
                                                                   size_t bytes,
                                                                   cudaStream_t stream) {
  static const auto set = real<cudaError_t (*)(void*, int, size_t, cudaStream_t)>(
      {"libcudart.so.13", "libcudart.so.12"}, "cudaMemsetAsync");
  note_recorded();
  return set(at, value, bytes, stream);
}

// NCCL's calls, without its header: it need not be installed. Its enumerations are ints.
// NOLINTBEGIN(readability-identifier-naming,cppcoreguidelines-macro-usage): NCCL's names
#define PTBENCH_COLLECTIVE(function, parameters, arguments)                              \
  __attribute__((visibility("default"))) int function parameters {                       \
    static const auto collective = real<int(*) parameters>({"libnccl.so.2"}, #function); \
    ++calls().collectives;                                                               \
    return collective arguments;                                                         \
  }
PTBENCH_COLLECTIVE(ncclAllReduce,
                   (const void* from, void* to, size_t count, int type, int operation, void* comm,
                    cudaStream_t stream),
                   (from, to, count, type, operation, comm, stream))
PTBENCH_COLLECTIVE(ncclReduceScatter,
                   (const void* from, void* to, size_t count, int type, int operation, void* comm,
                    cudaStream_t stream),
                   (from, to, count, type, operation, comm, stream))
PTBENCH_COLLECTIVE(ncclAllGather,
                   (const void* from, void* to, size_t count, int type, void* comm,
                    cudaStream_t stream),
                   (from, to, count, type, comm, stream))
PTBENCH_COLLECTIVE(ncclBroadcast,
                   (const void* from, void* to, size_t count, int type, int root, void* comm,
                    cudaStream_t stream),
                   (from, to, count, type, root, comm, stream))
#undef PTBENCH_COLLECTIVE
__attribute__((visibility("default"))) int ncclReduce(const void* from, void* to, size_t count,
                                                      int type, int operation, int root, void* comm,
                                                      cudaStream_t stream) {
  using Reduce = int (*)(const void*, void*, size_t, int, int, int, void*, cudaStream_t);
  static const auto reduce = real<Reduce>({"libnccl.so.2"}, "ncclReduce");
  ++calls().collectives;
  ++calls().reductions_to_one;
  return reduce(from, to, count, type, operation, root, comm, stream);
}
// NOLINTEND(readability-identifier-naming,cppcoreguidelines-macro-usage)

// cuda_profiler_api.h is a package of its own, which many toolkits lack.
cudaError_t cudaProfilerStart();  // NOLINT(readability-identifier-naming)
cudaError_t cudaProfilerStop();   // NOLINT(readability-identifier-naming)

// NOLINTBEGIN(cppcoreguidelines-macro-usage): the same function many times.
#define PTBENCH_COUNTED(counter, function, parameters, arguments)                           \
  __attribute__((visibility("default"))) cudaError_t function parameters {                  \
    static const auto counted =                                                             \
        real<cudaError_t(*) parameters>({"libcudart.so.13", "libcudart.so.12"}, #function); \
    ++calls().counter;                                                                      \
    return counted arguments;                                                               \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)
PTBENCH_COUNTED(waits, cudaDeviceSynchronize, (), ())
PTBENCH_COUNTED(waits, cudaStreamSynchronize, (cudaStream_t stream), (stream))
PTBENCH_COUNTED(waits, cudaStreamQuery, (cudaStream_t stream), (stream))
PTBENCH_COUNTED(waits, cudaEventSynchronize, (cudaEvent_t event), (event))
PTBENCH_COUNTED(waits, cudaEventQuery, (cudaEvent_t event), (event))
PTBENCH_COUNTED(waits, cudaMemcpy,
                (void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind),
                (to, from, bytes, kind))
PTBENCH_COUNTED(waits, cudaMemset, (void* at, int value, size_t bytes), (at, value, bytes))
PTBENCH_COUNTED(allocations, cudaMalloc, (void** at, size_t bytes), (at, bytes))
PTBENCH_COUNTED(allocations, cudaFree, (void* at), (at))
PTBENCH_COUNTED(allocations, cudaMallocAsync, (void** at, size_t bytes, cudaStream_t stream),
                (at, bytes, stream))
PTBENCH_COUNTED(allocations, cudaFreeAsync, (void* at, cudaStream_t stream), (at, stream))
PTBENCH_COUNTED(allocations, cudaMallocHost, (void** at, size_t bytes), (at, bytes))
PTBENCH_COUNTED(allocations, cudaHostAlloc, (void** at, size_t bytes, unsigned flags),
                (at, bytes, flags))
PTBENCH_COUNTED(allocations, cudaFreeHost, (void* at), (at))
PTBENCH_COUNTED(allocations, cudaHostRegister, (void* at, size_t bytes, unsigned flags),
                (at, bytes, flags))
PTBENCH_COUNTED(allocations, cudaHostUnregister, (void* at), (at))
PTBENCH_COUNTED(allocations, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags),
                (event, flags))
PTBENCH_COUNTED(allocations, cudaEventDestroy, (cudaEvent_t event), (event))
PTBENCH_COUNTED(allocations, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags),
                (stream, flags))
PTBENCH_COUNTED(allocations, cudaStreamDestroy, (cudaStream_t stream), (stream))
PTBENCH_COUNTED(allocations, cudaGraphInstantiate,
                (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
                (executable, graph, flags))
PTBENCH_COUNTED(allocations, cudaGraphExecDestroy, (cudaGraphExec_t executable), (executable))
PTBENCH_COUNTED(profile_begins, cudaProfilerStart, (), ())
PTBENCH_COUNTED(profile_ends, cudaProfilerStop, (), ())
#undef PTBENCH_COUNTED
}
