#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "tests/cuda_emulator/arithmetic/element.h"

namespace ptbench::emulator {

/// cublasLtMatmulDesc_t: what is computed. Attributes that are not here are not supported.
struct MatmulDescription {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  std::int32_t transpose_a = CUBLAS_OP_N;
  std::int32_t transpose_b = CUBLAS_OP_N;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int32_t bias_type = -1;  ///< -1: that of D
  void* auxiliary = nullptr;
  std::int64_t auxiliary_ld = 0;
};

/// cublasLtMatrixLayout_t: a column-major matrix.
struct MatrixLayout {
  std::uint32_t type = CUDA_R_32F;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t ld = 0;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;  ///< in elements
};
/// Of a layout whose type was checked.
inline Element element_of(const MatrixLayout& layout) {
  if (layout.type == CUDA_R_16F) return Element::f16;
  return layout.type == CUDA_R_16BF ? Element::bf16 : Element::f32;
}

/// cublasLtMatmulPreference_t.
struct MatmulPreference {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;  ///< that are allowed, as bits
};

/// What lies in the opaque cublasLtMatmulAlgo_t.
struct Algorithm {
  static constexpr std::uint64_t kMark = 0x70746265'6e636801U;
  std::uint64_t mark = kMark;
  std::uint64_t id = 0;
  std::uint64_t workspace_bytes = 0;
  std::uint32_t parts = 1;  ///< into which sums are split
  std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// What an epilogue does.
struct Epilogue {
  bool adds_bias = false;
  bool relu = false;
  bool keeps_mask = false;    ///< writes which values the ReLU let through, a bit each
  bool applies_mask = false;  ///< multiplies by such a mask: ReLU's gradient
  bool sums_rows = false;     ///< bias gradient: the result's sums over its columns
  bool sums_a = false;        ///< bias gradient out of A: sums over k
  bool sums_b = false;

  [[nodiscard]] bool has_bias_gradient() const { return sums_rows || sums_a || sums_b; }
  /// Whether the description's bias is read or written.
  [[nodiscard]] bool has_vector() const { return adds_bias || has_bias_gradient(); }
};

/// False where the emulation does not have it.
[[nodiscard]] bool find_epilogue(std::uint32_t epilogue, Epilogue& found);

/// One product as cublasLtMatmul is asked for it, in host terms.
struct Matmul {
  MatmulDescription description;
  Epilogue epilogue;
  MatrixLayout a, b, c, d;
  float alpha = 1, beta = 0;
  const void* a_data = nullptr;
  const void* b_data = nullptr;
  const void* c_data = nullptr;
  void* d_data = nullptr;
  Algorithm algorithm;
  void* workspace = nullptr;
  std::uint64_t workspace_bytes = 0;  ///< that are lent, of which the algorithm may need less
  std::uint64_t m = 0, n = 0, k = 0;
};
/// Of the bias or its gradient, which has the result's type.
inline std::size_t bias_bytes(const Matmul& matmul) {
  return (matmul.epilogue.sums_b ? matmul.n : matmul.m) * bytes_of(element_of(matmul.d));
}

/// Fills in m, n and k and checks types, extents, leading dimensions and the epilogue's arguments,
/// without looking at memory.
[[nodiscard]] cublasStatus_t check_shapes(Matmul& matmul);

/// Computes it, on memory of the device. All of the workspace is spoilt.
void compute(const Matmul& matmul);

}  // namespace ptbench::emulator
