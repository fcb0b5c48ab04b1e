// Registration of what nvcc put into a module, and launches of kernels.
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/cuda_emulator/device/report.h"
#include "tests/cuda_emulator/runtime/call.h"
#include "tests/cuda_emulator/runtime/properties.h"

namespace ptbench::emulator {
namespace {

struct Function {
  std::string name;
  const Kernel* kernel = nullptr;  ///< found at the first use
  U32 largest_dynamic = 48U << 10U;
};
struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};

/// What modules registered, by the address of the host's stand-in.
struct Registry {
  std::map<const void*, Function> functions;
  std::map<const void*, std::string> variables;
};
Registry& registry() {
  static auto* const only = new Registry;  // used until the process ends
  return *only;
}
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

const Kernel& kernel_of(Function& function) {
  if (function.kernel == nullptr) function.kernel = &machine().kernels().kernel(function.name);
  return *function.kernel;
}
Function* function_of(const void* host) {
  const auto found = registry().functions.find(host);
  return found == registry().functions.end() ? nullptr : &found->second;
}

/// Why a launch of this shape is impossible, with the error that the runtime gives; empty where it
/// is possible.
std::string impossible(Function& function, dim3 grid, dim3 block, std::size_t shared,
                       cudaError_t& error) {
  const Kernel& kernel = kernel_of(function);
  const U64 threads = U64{block.x} * block.y * block.z;
  error = cudaErrorInvalidConfiguration;
  if (threads == 0 || threads > kMaxThreads || block.z > 64)
    return text("a block of ", block.x, " x ", block.y, " x ", block.z, " threads");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 ||
      grid.z > 65535)
    return text("a grid of ", grid.x, " x ", grid.y, " x ", grid.z, " blocks");
  error = cudaErrorInvalidValue;
  if (kernel.max_threads != 0 && threads > kernel.max_threads)
    return text("a block of ", threads, " threads, above the ", kernel.max_threads,
                " of its __launch_bounds__");
  if (shared > function.largest_dynamic)
    return text(shared, " bytes of dynamic shared memory, above the ", function.largest_dynamic,
                " allowed");
  if (kernel.declared_shared + shared > kSharedPerBlock ||
      kernel.static_shared + shared > kSharedBytes)
    return text(kernel.declared_shared + shared, " bytes of shared memory");
  error = cudaSuccess;
  return {};
}

cudaError_t launch(Function& function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                   cudaStream_t stream) {
  const Kernel& kernel = kernel_of(function);
  cudaError_t error = cudaSuccess;
  if (const std::string why = impossible(function, grid, block, shared, error); !why.empty())
    return fail(error, text("launch of kernel ", readable_name(kernel.name), ": ", why));
  const auto parameters = std::make_shared<std::vector<U8>>(kernel.parameter_bytes + 16);
  for (U32 index = 0; index < kernel.parameter_count; ++index)
    std::memcpy(parameters->data() + kernel.parameters[index].offset, arguments[index],
                kernel.parameters[index].bytes);
  const auto run = [=, &kernel] {
    if (!machine().may_run(kernel.name)) return;
    if (machine().marks() != nullptr) machine().marks()->begin_grid();
    machine().grid().run(kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
                         parameters->data(), static_cast<U32>(shared));
  };
  return enqueue(stream, "kernel " + readable_name(kernel.name), run, true,
                 {.kind = ptbench_emulator_work::kernel, .name = kernel.name});
}

/// How many blocks of this shape an SM holds at once.
int blocks_per_sm(const Kernel& kernel, int block, std::size_t dynamic) {
  constexpr U32 kSmRegisters = 65536;
  constexpr U32 kSmThreads = 2048;
  constexpr U32 kSmBlocks = 32;
  const U32 warps = (static_cast<U32>(block) + kWarp - 1) / kWarp;
  U32 most = std::min(kSmBlocks, kSmThreads / (warps * kWarp));
  if (kernel.registers != 0)  // given to warps in pieces of 256
    most = std::min(most, kSmRegisters / (warps * ((kernel.registers * kWarp + 255) / 256 * 256)));
  const std::size_t shared = kernel.declared_shared + dynamic + 1024;  // the system's part
  return static_cast<int>(std::min<std::size_t>(most, kSharedPerSm / shared));
}

}  // namespace

const Variable* variable_of(const void* symbol) {
  const auto found = registry().variables.find(symbol);
  return found == registry().variables.end() ? nullptr
                                             : machine().kernels().variable(found->second);
}

}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" {

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
void __cudaRegisterFunction(void** /*handle*/, const char* host, char* /*device*/, const char* name,
                            int /*threads*/, uint3*, uint3*, dim3*, dim3*, int*) {
  registry().functions[host] = {.name = name};
}
void __cudaRegisterVar(void** /*handle*/, char* host, char* /*address*/, const char* name,
                       int /*is_external*/, std::size_t /*bytes*/, int /*is_constant*/,
                       int /*is_global*/) {
  registry().variables[host] = name;
}
char __cudaInitModule(void** /*handle*/) { return 1; }

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  configurations().push_back({grid, block, shared, static_cast<cudaStream_t>(stream)});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  const Configuration last = configurations().back();
  configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  Function* function = function_of(host);
  if (function == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(function);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  const Call call("cudaLaunchKernel");
  return launch(*reinterpret_cast<Function*>(kernel), grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  const Call call("cudaLaunchKernel");
  Function* function = function_of(host);
  return function == nullptr ? fail(cudaErrorInvalidDeviceFunction)
                             : launch(*function, grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host,
                                void** arguments) {
  if (config->numAttrs != 0)
    return fail(cudaErrorNotSupported, "cudaLaunchKernelExC with attributes");
  return cudaLaunchKernel(host, config->gridDim, config->blockDim, arguments,
                          config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  const Call call;
  Function* function = function_of(host);
  if (function == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    return fail(cudaErrorNotSupported, "cudaFuncSetAttribute");
  if (value < 0 || static_cast<U32>(value) + kernel_of(*function).declared_shared > kSharedPerBlock)
    return fail(cudaErrorInvalidValue);
  function->largest_dynamic = static_cast<U32>(value);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host) {
  const Call call;
  Function* function = function_of(host);
  if (function == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  const Kernel& kernel = kernel_of(*function);
  *attributes = {};
  attributes->sharedSizeBytes = kernel.declared_shared;
  attributes->maxThreadsPerBlock =
      static_cast<int>(kernel.max_threads != 0 ? kernel.max_threads : kMaxThreads);
  attributes->numRegs = static_cast<int>(kernel.registers);
  attributes->ptxVersion = attributes->binaryVersion = 80;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(function->largest_dynamic);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                   int block, std::size_t dynamic,
                                                                   unsigned /*flags*/) {
  const Call call;
  Function* function = function_of(host);
  if (function == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  if (block <= 0 || static_cast<U32>(block) > kMaxThreads) return fail(cudaErrorInvalidValue);
  *blocks = blocks_per_sm(kernel_of(*function), block, dynamic);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int block,
                                                          std::size_t dynamic) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, block, dynamic, 0);
}

cudaError_t cudaGetSymbolAddress(void** at, const void* symbol) {
  const Call call;
  const Variable* variable = variable_of(symbol);
  if (variable == nullptr) return fail(cudaErrorInvalidSymbol);
  *at = variable->address;
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  const Variable* variable = variable_of(symbol);
  if (variable == nullptr) return fail(cudaErrorInvalidSymbol);
  return cudaMemcpyAsync(static_cast<U8*>(variable->address) + offset, from, bytes, kind, stream);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  const Variable* variable = variable_of(symbol);
  if (variable == nullptr) return fail(cudaErrorInvalidSymbol);
  return cudaMemcpyAsync(to, static_cast<U8*>(variable->address) + offset, bytes, kind, stream);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
  return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
