// A library to be preloaded that counts what cuBLASLt multiplies, and writes the number into the
// file that PTBENCH_PRODUCTS names when the process ends.
#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace {

class Counter {
 public:
  Counter() = default;
  ~Counter() {
    if (const char* file = std::getenv("PTBENCH_PRODUCTS"); file != nullptr && count_ > 0)
      std::ofstream(file) << count_ << '\n';
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  void add() { ++count_; }

 private:
  std::uint64_t count_ = 0;
};

Counter& counter() {
  static Counter counter;
  return counter;
}

/// The library that the module has opened.
decltype(&cublasLtMatmul) real_matmul() {
  void* library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen("libcublasLt.so.12", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) std::abort();
  return reinterpret_cast<decltype(&cublasLtMatmul)>(dlsym(library, "cublasLtMatmul"));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t library, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
    cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
    const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
    cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
    size_t workspace_bytes, cudaStream_t stream) {
  static const auto real = real_matmul();
  counter().add();
  return real(library, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
              algorithm, workspace, workspace_bytes, stream);
}
