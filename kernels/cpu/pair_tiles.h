#pragma once

#include "kernels/cpu/pair_products.h"

// Products of bf16 pairs by AMX, where AVX512_BF16's dot products (pair_products.h) are several
// times slower.
namespace ptbench::products {

/// As multiply_panel. Rows and steps are multiples of 16, and the words of a row of `left` lie side
/// by side. The calling thread's tiles are at full size (amx::Tiles).
void multiply_panel_by_tiles(const PanelExtent& extent, const Left& left, const Right& right,
                             float* sums);

}  // namespace ptbench::products
