#include "kernels/cuda/cublaslt.h"

#include <fmt/format.h>

#include <exception>

#include "kernels/cuda/workspace.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/device/cuda/check.h"

namespace ptbench::cuda {
namespace {

/// NVIDIA's advice for Hopper; smaller devices need less.
constexpr Bytes kMostWorkspace = Bytes{32} << 20U;
/// Of everything that a product reads and writes: tensors begin at multiples of 64 bytes.
constexpr std::uint32_t kAlignment = 64;
/// How algorithms may add up the parts of a sum that they split: in f32, in a step of its own. What
/// OUTPUT_TYPE keeps of the parts, and INPLACE of the sum so far, has D's type: in bf16 and fp16 it
/// is rounded at each part, and in fp16 a part may overflow though the sum does not.
constexpr std::uint32_t kReductions =
    CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

std::string describe(cublasStatus_t status, const char* call, const std::source_location& where) {
  return fmt::format("{}: {}, {}", call, cublasLtGetStatusName(status), place_of(where));
}

cublasLtEpilogue_t value_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none: return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::bias: return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::bias_relu: return CUBLASLT_EPILOGUE_RELU_BIAS;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

cudaDataType_t value_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
    case ElementType::tf32: return CUDA_R_32F;
    case ElementType::bf16: return CUDA_R_16BF;
    case ElementType::f16: return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

OwnedLayout layout_of(const Matrix& matrix, ElementType type) {
  cublasLtMatrixLayout_t layout = nullptr;
  PTBENCH_CUBLASLT(
      cublasLtMatrixLayoutCreate(&layout, value_of(type), static_cast<std::uint64_t>(matrix.rows),
                                 static_cast<std::uint64_t>(matrix.columns), matrix.rows));
  return OwnedLayout(layout);
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  PTBENCH_CUBLASLT(cublasLtMatmulDescSetAttribute(description, attribute,
                                                  static_cast<const void*>(&value), sizeof value));
}

/// What stands for a bias while algorithms are looked for, which reads none: an epilogue without a
/// pointer may be refused.
const void* no_bias_yet() { return reinterpret_cast<const void*>(std::uintptr_t{kAlignment}); }

OwnedDescription description_of(const ProductSpec& spec, const void* bias) {
  cublasLtMatmulDesc_t created = nullptr;
  const bool as_tf32 = spec.factors == ElementType::tf32;
  PTBENCH_CUBLASLT(cublasLtMatmulDescCreate(
      &created, as_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
  OwnedDescription description(created);
  const auto operation = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(created, CUBLASLT_MATMUL_DESC_TRANSA, operation(spec.transpose_a));
  set(created, CUBLASLT_MATMUL_DESC_TRANSB, operation(spec.transpose_b));
  set(created, CUBLASLT_MATMUL_DESC_EPILOGUE, value_of(spec.epilogue));
  if (spec.epilogue != Epilogue::none)  // its type is D's, if nothing else is said
    set(created, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias == nullptr ? no_bias_yet() : bias);
  return description;
}

using OwnedPreference = OwnedCublasLt<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const Value& value) {
  PTBENCH_CUBLASLT(
      cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
}

/// What our memory promises and allows, and how sums may be formed.
OwnedPreference preference() {
  cublasLtMatmulPreference_t created = nullptr;
  PTBENCH_CUBLASLT(cublasLtMatmulPreferenceCreate(&created));
  OwnedPreference preference(created);
  set(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::size_t{kMostWorkspace});
  set(created, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(created, attribute, kAlignment);
  return preference;
}

/// What identifies an algorithm, and its name.
struct Setting {
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  const char* name;
};
constexpr std::array<Setting, 7> kSettings{{{CUBLASLT_ALGO_CONFIG_ID, "algorithm"},
                                            {CUBLASLT_ALGO_CONFIG_TILE_ID, "tile"},
                                            {CUBLASLT_ALGO_CONFIG_STAGES_ID, "stages"},
                                            {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, "split"},
                                            {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, "reduction"},
                                            {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, "swizzle"},
                                            {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, "custom"}}};

/// "algorithm 20 tile 18 stages 0 …", without the settings that this algorithm does not have.
std::string description_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const Setting& setting : kSettings) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
        &algorithm, setting.attribute, &value, sizeof value, &written);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) continue;
    PTBENCH_CUBLASLT(status);
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", setting.name, value);
  }
  return text;
}

}  // namespace

void check_cublaslt(cublasStatus_t status, const char* call, std::source_location where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_cuda(cudaPeekAtLastError(), call, where);  // says more, where the device is broken
  throw run_error(describe(status, call, where),
                  "set CUBLASLT_LOG_LEVEL=2 to have cuBLASLt say more");
}

void note_cublaslt(cublasStatus_t status, const char* call, std::source_location where) noexcept {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  try {
    log_error(describe(status, call, where));
  } catch (const std::exception&) {
    return;  // without memory for a message there is nobody to tell
  }
}

OwnedLibrary open_cublaslt() {
  cublasLtHandle_t library = nullptr;
  PTBENCH_CUBLASLT(cublasLtCreate(&library));
  return OwnedLibrary(library);
}

std::string cublaslt_version() {
  const std::size_t version = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

Product::Product(cublasLtHandle_t library, const ProductSpec& spec, const void* bias)
    : library_(library),
      spec_(spec),
      description_(description_of(spec, bias)),
      a_(layout_of(spec.a, spec.factors)),
      b_(layout_of(spec.b, spec.factors)),
      d_(layout_of(spec.d, spec.result)) {}

std::vector<ProductAlgorithm> Product::algorithms(int most) const {
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_, description_.get(), a_.get(), b_.get(), d_.get(),
                                     d_.get(), preference().get(), most, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0))
    throw capability_error(fmt::format("cuBLASLt has no algorithm for a product of {}×{} in {}",
                                       spec_.d.rows, spec_.d.columns, name_of(spec_.factors)),
                           "use --device cpu");
  PTBENCH_CUBLASLT(status);
  std::vector<ProductAlgorithm> algorithms;
  for (const cublasLtMatmulHeuristicResult_t& one :
       std::span(found).first(static_cast<std::size_t>(count)))
    if (one.state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back({.algorithm = one.algo,
                            .workspace = one.workspaceSize,
                            .description = description_of(one.algo)});
  ensure(!algorithms.empty(), "cuBLASLt names an algorithm that it supports");
  return algorithms;
}

void Product::run(const ProductOperands& operands, const ProductAlgorithm& algorithm,
                  cudaStream_t stream) const {
  require_workspace(operands.workspace, algorithm.workspace);
  const float alpha = 1;
  const float beta = operands.adds ? 1 : 0;
  PTBENCH_CUBLASLT(cublasLtMatmul(library_, description_.get(), &alpha, operands.a, a_.get(),
                                  operands.b, b_.get(), &beta, operands.d, d_.get(), operands.d,
                                  d_.get(), &algorithm.algorithm, operands.workspace.data(),
                                  algorithm.workspace, stream));
}

}  // namespace ptbench::cuda
