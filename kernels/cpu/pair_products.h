#pragma once

#include <cstdint>

#include "src/base/size.h"

/// Matrix products of bf16 pairs with f32 sums, by AVX512_BF16 dot products on one thread. A 32-bit
/// word holds two neighbours along the dimension that is summed over.
namespace ptbench::products {

struct Extent {
  Size rows = 0;
  Size columns = 0;  ///< a multiple of 16
  Size steps = 0;    ///< words along the dimension that is summed over
  bool add = false;  ///< to what is there already
};

/// The left-hand side: word (row, step) lies at row · `row` + step · `step`.
struct Left {
  const std::uint32_t* values = nullptr;
  Size row = 0;
  Size step = 0;
};

constexpr Size kBlock = 16;       ///< columns of a vector of sums
constexpr Size kPanelBlocks = 4;  ///< at most, of a panel

/// A right-hand side of one panel: the words of a step lie side by side, steps `step` apart.
struct Right {
  const std::uint32_t* values = nullptr;
  Size step = 0;
};

/// What one panel gives: rows × (16 · blocks) sums, rows `stride` apart.
struct PanelExtent {
  Size rows = 0;
  Size blocks = 0;
  Size steps = 0;
  bool add = false;  ///< to what is there already
  Size stride = 0;
};

/// sums = left · right.
void multiply_panel(const PanelExtent& extent, const Left& left, const Right& right, float* sums);

/// multiply_panel, or what computes the same otherwise (pair_tiles.h, widened_products.h).
using MultiplyPanel = void (*)(const PanelExtent&, const Left&, const Right&, float* sums);

/// Where the words of 16 columns begin, of one step, in a packed right-hand side: panels of 64
/// columns (the last may be narrower), each steps × columns.
[[nodiscard]] Size packed_offset(Size steps, Size columns, Size step, Size block);

/// sums (rows × columns) = left · right, which is packed, panel by panel.
void multiply(MultiplyPanel multiply_panel, const Extent& extent, const Left& left,
              const std::uint32_t* right, float* sums);
/// The same with a right-hand side of steps × columns.
void multiply_flat(MultiplyPanel multiply_panel, const Extent& extent, const Left& left,
                   const std::uint32_t* right, float* sums);

}  // namespace ptbench::products
