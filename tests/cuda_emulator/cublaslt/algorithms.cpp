#include "tests/cuda_emulator/cublaslt/algorithms.h"

#include <cstdint>
#include <cstring>

#include "tests/cuda_emulator/arithmetic/workspace.h"
#include "tests/cuda_emulator/device/exports.h"

namespace ptbench::emulator {
namespace {

/// Into which sums are split.
constexpr std::uint32_t kParts = 2;
/// Results of a product whose sums are split: more of them keep a device busy as they are.
constexpr std::uint64_t kMostSplitResults = 4096;
/// Workspace that has nothing to do with the results.
constexpr std::uint64_t kCounters = 4096;
/// At whose multiples a workspace begins, as cuBLASLt's manual demands.
constexpr std::uint64_t kWorkspaceAlignment = 256;

/// Bytes of workspace that a way to add up parts needs.
std::uint64_t workspace_of(const Matmul& matmul, std::uint32_t reduction) {
  const std::uint64_t elements = kParts * matmul.m * matmul.n;
  switch (reduction) {
    case CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: return elements * sizeof(float);
    case CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE: return elements * bytes_of(element_of(matmul.d));
    default: return kCounters;
  }
}

/// A piece of memory that a product reads or writes.
struct Operand {
  const char* name;
  Extent extent;
};

Extent extent_of(const void* data, const MatrixLayout& layout) {
  const std::uint64_t elements =
      (layout.columns - 1) * static_cast<std::uint64_t>(layout.ld) + layout.rows;
  return {data, elements * bytes_of(element_of(layout))};
}

std::vector<Operand> operands_of(const Matmul& matmul) {
  const Epilogue& epilogue = matmul.epilogue;
  const MatmulDescription& description = matmul.description;
  std::vector<Operand> operands{{"A", extent_of(matmul.a_data, matmul.a)},
                                {"B", extent_of(matmul.b_data, matmul.b)},
                                {"D", extent_of(matmul.d_data, matmul.d)}};
  if (matmul.beta != 0) operands.push_back({"C", extent_of(matmul.c_data, matmul.c)});
  if (epilogue.has_vector())
    operands.push_back({"the bias", {description.bias, bias_bytes(matmul)}});
  if (epilogue.keeps_mask || epilogue.applies_mask) {
    const std::uint64_t before =
        (matmul.n - 1) * static_cast<std::uint64_t>(description.auxiliary_ld);
    operands.push_back({"the ReLU mask", {description.auxiliary, before / 8 + (matmul.m + 7) / 8}});
  }
  return operands;
}

cublasStatus_t check_workspace(const Matmul& matmul) {
  if (matmul.workspace_bytes == 0) return CUBLAS_STATUS_SUCCESS;
  if (reinterpret_cast<std::uintptr_t>(matmul.workspace) % kWorkspaceAlignment != 0)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "the workspace does not begin at a multiple of " +
                                                   std::to_string(kWorkspaceAlignment) + " bytes");
  const Extent workspace{matmul.workspace, matmul.workspace_bytes};
  for (const Operand& operand : operands_of(matmul))
    if (workspace.meets(operand.extent))
      return refuse(CUBLAS_STATUS_INVALID_VALUE,
                    "the workspace overlaps " + std::string(operand.name));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t refuse(cublasStatus_t status, const std::string& why) {
  ptbench_emulator_remark(("cublasLtMatmul: " + why).c_str());
  return status;
}

std::vector<Algorithm> algorithms_for(const Matmul& matmul, const MatmulPreference& preference) {
  const bool splits = matmul.k >= kParts && matmul.m * matmul.n <= kMostSplitResults;
  std::vector<Algorithm> offered;
  const auto offer = [&](const Algorithm& algorithm) {
    if (algorithm.workspace_bytes <= preference.workspace_bytes) offered.push_back(algorithm);
  };
  const auto offer_split = [&](std::uint32_t reduction) {
    if (splits && (reduction & preference.reductions) != 0)
      offer({.id = 1,
             .workspace_bytes = workspace_of(matmul, reduction),
             .parts = kParts,
             .reduction = reduction});
  };
  offer_split(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
  offer_split(CUBLASLT_REDUCTION_SCHEME_INPLACE);
  offer({});
  if (splits)
    offer_split(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  else
    offer({.id = 2, .workspace_bytes = kCounters});
  return offered;
}

Algorithm read(const cublasLtMatmulAlgo_t& algorithm) {
  Algorithm read;
  std::memcpy(static_cast<void*>(&read), &algorithm, sizeof read);
  return read;
}

cublasStatus_t check_algorithm(const Matmul& matmul) {
  const Algorithm& algorithm = matmul.algorithm;
  if (algorithm.mark != Algorithm::kMark)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "the algorithm is none of the heuristics'");
  if (algorithm.workspace_bytes > matmul.workspace_bytes)
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "the algorithm needs " + std::to_string(algorithm.workspace_bytes) +
                      " bytes of workspace, there are " + std::to_string(matmul.workspace_bytes));
  return check_workspace(matmul);
}

}  // namespace ptbench::emulator
