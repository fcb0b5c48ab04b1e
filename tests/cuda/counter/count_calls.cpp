// A library to be preloaded that counts what cuBLASLt multiplies and what cuDNN executes, and
// writes both numbers into the file that PTBENCH_LIBRARY_CALLS names when the process ends.
#include <cublasLt.h>
#include <cudnn_graph.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>

namespace {

class Calls {
 public:
  Calls() = default;
  ~Calls() {
    const char* file = std::getenv("PTBENCH_LIBRARY_CALLS");
    if (file != nullptr && products + convolutions > 0)
      std::ofstream(file) << products << ' ' << convolutions << '\n';
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  std::uint64_t products = 0;
  std::uint64_t convolutions = 0;
};

Calls& calls() {
  static Calls calls;
  return calls;
}

/// The function of the library that the module has opened, which goes by one of these names.
template <class Function>
Function real(std::initializer_list<const char*> libraries, const char* name) {
  for (const char* file : libraries)
    if (void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD); library != nullptr)
      return reinterpret_cast<Function>(dlsym(library, name));
  std::abort();
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
  return matmul(library, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                algorithm, workspace, workspace_bytes, stream);
}

__attribute__((visibility("default"))) cudnnStatus_t cudnnBackendExecute(
    cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t memory) {
  static const auto execute =
      real<decltype(&cudnnBackendExecute)>({"libcudnn.so.9"}, "cudnnBackendExecute");
  ++calls().convolutions;
  return execute(handle, plan, memory);
}
}
