// The shadow of cuBLASLt: products of fp32, bf16 and fp16 matrices with their epilogues, summed in
// fp32, computed on the CPU when the stream gets there. What it does not do is
// CUBLAS_STATUS_NOT_SUPPORTED.
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "tests/cuda_emulator/cublaslt/algorithms.h"
#include "tests/cuda_emulator/cublaslt/descriptions.h"
#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

std::string shape_of(const MatrixLayout& layout) {
  return std::to_string(layout.rows) + " x " + std::to_string(layout.columns) +
         " with leading dimension " + std::to_string(layout.ld);
}

cublasStatus_t check_layout(const char* name, const MatrixLayout& layout) {
  if (layout.type != CUDA_R_32F && layout.type != CUDA_R_16BF && layout.type != CUDA_R_16F)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  std::string(name) + " is neither fp32 nor bf16 nor fp16");
  if (layout.batch != 1)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, std::string(name) + " has several matrices");
  if (layout.rows == 0 || layout.columns == 0 || layout.ld < static_cast<std::int64_t>(layout.rows))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, std::string(name) + " is " + shape_of(layout));
  return CUBLAS_STATUS_SUCCESS;
}

bool is_operation(std::int32_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T;
}

cublasStatus_t check_description(const MatmulDescription& description) {
  if (description.compute != CUBLAS_COMPUTE_32F &&
      description.compute != CUBLAS_COMPUTE_32F_PEDANTIC &&
      description.compute != CUBLAS_COMPUTE_32F_FAST_TF32)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "compute type is not fp32 or tf32");
  if (description.scale != CUDA_R_32F)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "scale type is not fp32");
  if (description.pointer_mode != CUBLASLT_POINTER_MODE_HOST)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "alpha and beta do not lie on the host");
  if (!is_operation(description.transpose_a) || !is_operation(description.transpose_b))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "an operation is neither N nor T");
  return CUBLAS_STATUS_SUCCESS;
}

/// Which types go together: "Regular" matrices of the table at cublasLtMatmul in cuBLAS's manual.
cublasStatus_t check_types(const Matmul& matmul) {
  if (matmul.a.type != matmul.b.type)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "A and B have different types");
  if (matmul.c.type != matmul.d.type)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "C and D have different types");
  if (matmul.a.type == CUDA_R_32F && matmul.d.type != CUDA_R_32F)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "the product of fp32 matrices is not fp32");
  if (matmul.d.type != CUDA_R_32F && matmul.d.type != matmul.a.type)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "D has neither the factors' type nor fp32");
  const MatmulDescription& description = matmul.description;
  if (matmul.a.type != CUDA_R_32F && description.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "narrow matrices are multiplied in tf32");
  if (description.bias_type != -1 && description.bias_type != static_cast<int>(matmul.d.type))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "the bias has not D's type");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t check_epilogue(Matmul& matmul) {
  if (!find_epilogue(matmul.description.epilogue, matmul.epilogue))
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "epilogue " + std::to_string(matmul.description.epilogue) + " is not emulated");
  const Epilogue& epilogue = matmul.epilogue;
  if (epilogue.has_bias_gradient() && matmul.a.type != CUDA_R_32F)
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "bias gradients of narrow products are not emulated");
  if (epilogue.has_vector() && matmul.description.bias == nullptr)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "the epilogue needs a bias pointer");
  if (!epilogue.keeps_mask && !epilogue.applies_mask) return CUBLAS_STATUS_SUCCESS;
  const std::int64_t ld = matmul.description.auxiliary_ld;
  if (matmul.description.auxiliary == nullptr || ld % 128 != 0 ||
      ld < static_cast<std::int64_t>(matmul.m))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "the ReLU mask needs a pointer and a leading dimension that is a multiple of 128 "
                  "bits and at least the rows of D");
  return CUBLAS_STATUS_SUCCESS;
}

Matmul matmul_of(cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a,
                 cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  Matmul matmul;
  matmul.description = *reinterpret_cast<MatmulDescription*>(description);
  matmul.a = *reinterpret_cast<MatrixLayout*>(a);
  matmul.b = *reinterpret_cast<MatrixLayout*>(b);
  matmul.c = *reinterpret_cast<MatrixLayout*>(c);
  matmul.d = *reinterpret_cast<MatrixLayout*>(d);
  return matmul;
}

}  // namespace

cublasStatus_t check_shapes(Matmul& matmul) {
  const std::array<std::pair<const char*, const MatrixLayout*>, 4> layouts{
      {{"A", &matmul.a}, {"B", &matmul.b}, {"C", &matmul.c}, {"D", &matmul.d}}};
  for (const auto& [name, layout] : layouts)
    if (const cublasStatus_t status = check_layout(name, *layout)) return status;
  if (const cublasStatus_t status = check_description(matmul.description)) return status;
  if (const cublasStatus_t status = check_types(matmul)) return status;
  const bool transposes_a = matmul.description.transpose_a != CUBLAS_OP_N;
  const bool transposes_b = matmul.description.transpose_b != CUBLAS_OP_N;
  matmul.m = transposes_a ? matmul.a.columns : matmul.a.rows;
  matmul.k = transposes_a ? matmul.a.rows : matmul.a.columns;
  matmul.n = transposes_b ? matmul.b.rows : matmul.b.columns;
  const std::uint64_t k_of_b = transposes_b ? matmul.b.columns : matmul.b.rows;
  const auto is_result = [&](const MatrixLayout& layout) {
    return layout.rows == matmul.m && layout.columns == matmul.n;
  };
  if (k_of_b != matmul.k || !is_result(matmul.c) || !is_result(matmul.d))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "shapes do not match: A " + shape_of(matmul.a) + ", B " + shape_of(matmul.b) +
                      ", C " + shape_of(matmul.c) + ", D " + shape_of(matmul.d));
  return check_epilogue(matmul);
}

}  // namespace ptbench::emulator

using namespace ptbench::emulator;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "the operation completed successfully";
    case CUBLAS_STATUS_INVALID_VALUE: return "an invalid value was given";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality is not supported";
    default: return "another cuBLAS status";
  }
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS";
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  if (wanted < 1 || preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Matmul matmul = matmul_of(description, a, b, c, d);
  if (const cublasStatus_t status = check_shapes(matmul)) return status;
  const auto& preferred = *reinterpret_cast<const MatmulPreference*>(preference);
  for (const Algorithm& algorithm : algorithms_for(matmul, preferred)) {
    if (*found == wanted) break;
    cublasLtMatmulHeuristicResult_t& result = results[*found];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace_bytes;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
    ++*found;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t /*handle*/,
                                       cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  Matmul matmul = matmul_of(description, a, b, c, d);
  if (const cublasStatus_t status = check_shapes(matmul)) return status;
  const Algorithm chosen = read(*algorithm);
  if (chosen.mark != Algorithm::kMark) return CUBLAS_STATUS_INVALID_VALUE;
  *result = {};
  result->algo = *algorithm;
  result->workspaceSize = chosen.workspace_bytes;
  result->wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written) {
  const Algorithm asked = read(*algorithm);
  std::uint32_t found = 0;
  switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID: found = static_cast<std::uint32_t>(asked.id); break;
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: found = asked.parts; break;
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: found = asked.reduction; break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (bytes < sizeof found) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &found, sizeof found);
  if (written != nullptr) *written = sizeof found;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a_data, cublasLtMatrixLayout_t a,
                              const void* b_data, cublasLtMatrixLayout_t b, const void* beta,
                              const void* c_data, cublasLtMatrixLayout_t c, void* d_data,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr || alpha == nullptr || beta == nullptr || a_data == nullptr ||
      b_data == nullptr || d_data == nullptr)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an argument is null");
  Matmul matmul = matmul_of(description, a, b, c, d);
  if (const cublasStatus_t status = check_shapes(matmul)) return status;
  matmul.alpha = *static_cast<const float*>(alpha);
  matmul.beta = *static_cast<const float*>(beta);
  matmul.a_data = a_data;
  matmul.b_data = b_data;
  matmul.c_data = c_data;
  matmul.d_data = d_data;
  if (algorithm != nullptr) matmul.algorithm = read(*algorithm);
  matmul.workspace = workspace;
  matmul.workspace_bytes = workspace == nullptr ? 0 : workspace_bytes;
  if (const cublasStatus_t status = check_algorithm(matmul)) return status;
  const int error =
      ptbench_emulator_enqueue(stream, "cublasLtMatmul", [matmul] { compute(matmul); });
  return error == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
// NOLINTEND(readability-identifier-naming)
