#pragma once

#include "kernels/cpu/pair_products.h"

// Products of bf16 pairs by f32 multiply-adds, for processors on which these do more than
// AVX512_BF16's dot products (pair_products.h).
namespace ptbench::products {

/// As multiply_panel. Both sides are widened to f32, which is exact, a piece at a time that the
/// nearest cache holds. The words of a row of `left`, or those of a step, lie side by side.
void multiply_panel_widened(const PanelExtent& extent, const Left& left, const Right& right,
                            float* sums);

}  // namespace ptbench::products
