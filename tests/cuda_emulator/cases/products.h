#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// cuBLASLt's descriptions of products, and the algorithms that it offers for them.

namespace ptbench::emulator::cases {

inline void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::printf("cuBLASLt: status %d\n", static_cast<int>(status));
  std::exit(1);
}

class Library {
 public:
  Library() { check(cublasLtCreate(&handle_)); }
  ~Library() { cublasLtDestroy(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  [[nodiscard]] cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

/// D[m x n] = op(A) op(B), column-major; leading dimensions have `pad` more than is needed.
struct Product {
  int m, n, k, pad;
  bool transposes_a, transposes_b;
  cublasLtEpilogue_t epilogue;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

class Description {
 public:
  explicit Description(const Product& product) {
    check(cublasLtMatmulDescCreate(&handle_, product.compute, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, product.transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, product.transposes_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, product.epilogue);
  }
  ~Description() { cublasLtMatmulDescDestroy(handle_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) const {
    check(cublasLtMatmulDescSetAttribute(handle_, attribute, &value, sizeof value));
  }
  [[nodiscard]] cublasLtMatmulDesc_t get() const { return handle_; }

 private:
  cublasLtMatmulDesc_t handle_ = nullptr;
};

class Layout {
 public:
  Layout(int rows, int columns, int ld, cudaDataType_t type = CUDA_R_32F) {
    check(cublasLtMatrixLayoutCreate(&handle_, type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), ld));
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(handle_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  [[nodiscard]] cublasLtMatrixLayout_t get() const { return handle_; }

 private:
  cublasLtMatrixLayout_t handle_ = nullptr;
};

/// What heuristics offer. nvcc 13.0 cannot compile vectors of cuBLASLt's own type, which has no
/// name.
struct OfferedAlgorithm {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
};

/// D = A B of small matrices without gaps, A and B of one type, by an algorithm of the heuristics.
class SmallProduct {
 public:
  SmallProduct(int m, int n, int k, cudaDataType_t factors, cudaDataType_t result)
      : description_({m, n, k, 0, false, false, CUBLASLT_EPILOGUE_DEFAULT}),
        a_(m, k, m, factors),
        b_(k, n, k, factors),
        d_(m, n, m, result) {}

  /// What heuristics offer, with these ways to add up the parts of split sums allowed.
  [[nodiscard]] std::vector<OfferedAlgorithm> algorithms(
      std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK) const {
    constexpr int kMost = 8;
    constexpr std::uint64_t kWorkspace = 1 << 20;
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference));
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspace, sizeof kWorkspace));
    check(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions));
    cublasLtMatmulHeuristicResult_t found[kMost];
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(library_.get(), description_.get(), a_.get(), b_.get(),
                                         d_.get(), d_.get(), preference, kMost, found, &count));
    check(cublasLtMatmulPreferenceDestroy(preference));
    std::vector<OfferedAlgorithm> offered;
    for (int at = 0; at < count; ++at) offered.push_back({found[at].algo, found[at].workspaceSize});
    return offered;
  }

  /// The one that adds up split sums in this way.
  [[nodiscard]] OfferedAlgorithm algorithm(cublasLtReductionScheme_t reduction) const {
    for (const OfferedAlgorithm& one : algorithms())
      if (reduction_of(one.algo) == static_cast<std::uint32_t>(reduction)) return one;
    std::printf("cuBLASLt has no algorithm of reduction %d\n", static_cast<int>(reduction));
    std::exit(1);
  }

  static std::uint32_t reduction_of(const cublasLtMatmulAlgo_t& algorithm) {
    std::uint32_t reduction = 0;
    std::size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                               &reduction, sizeof reduction, &written));
    return reduction;
  }

  struct Operands {
    const void* a;
    const void* b;
    void* d;
  };
  /// The workspace that is lent, which may be larger than the algorithm needs.
  struct Workspace {
    void* at = nullptr;
    std::size_t bytes = 0;
  };

  [[nodiscard]] cublasStatus_t run(const Operands& operands, const cublasLtMatmulAlgo_t& algorithm,
                                   const Workspace& workspace,
                                   cudaStream_t stream = nullptr) const {
    const float one = 1;
    const float zero = 0;
    return cublasLtMatmul(library_.get(), description_.get(), &one, operands.a, a_.get(),
                          operands.b, b_.get(), &zero, operands.d, d_.get(), operands.d, d_.get(),
                          &algorithm, workspace.at, workspace.bytes, stream);
  }

 private:
  Library library_;
  Description description_;
  Layout a_;
  Layout b_;
  Layout d_;
};

}  // namespace ptbench::emulator::cases
