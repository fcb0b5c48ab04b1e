#pragma once

#include <cublasLt.h>

#include <string>
#include <vector>

#include "tests/cuda_emulator/cublaslt/descriptions.h"

// The algorithms that heuristics offer, and what running one of them demands.

namespace ptbench::emulator {

/// Says on standard error why a call gets this status, and returns it.
[[nodiscard]] cublasStatus_t refuse(cublasStatus_t status, const std::string& why);

/// Algorithms for a product whose shapes were checked, the fastest first as heuristics would have
/// it. First come those that split sums and round each part to D's type (OUTPUT_TYPE and INPLACE),
/// unless the preference excludes them; then one that adds up in one go, and one with workspace.
[[nodiscard]] std::vector<Algorithm> algorithms_for(const Matmul& matmul,
                                                    const MatmulPreference& preference);

/// What the opaque structure holds.
[[nodiscard]] Algorithm read(const cublasLtMatmulAlgo_t& algorithm);

/// Whether the product's algorithm is one of the heuristics', and its workspace is large enough,
/// lies at a multiple of 256 bytes and holds no operand.
[[nodiscard]] cublasStatus_t check_algorithm(const Matmul& matmul);

}  // namespace ptbench::emulator
